// The button that reports new posts at the top, and reveals them.

import { Icon } from "../ui/Icon";
import { counted } from "../ui/numbers";

interface NewPostsProps {
  count: number;
  onReveal: () => void;
}

export function NewPosts({ count, onReveal }: NewPostsProps) {
  return (
    <div className="new-posts" role="status">
      {count > 0 && (
        <button type="button" className="button" onClick={onReveal}>
          <Icon name="up" />
          {counted(count, "new post")}
        </button>
      )}
    </div>
  );
}
