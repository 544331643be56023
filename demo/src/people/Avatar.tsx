// The picture of a user: the initials of the name, on a colour derived from the username.

interface AvatarProps {
  username: string;
  displayName: string;
  size?: "small" | "large";
}

const graphemes = new Intl.Segmenter();
const firstOf = (word: string) => graphemes.segment(word)[Symbol.iterator]().next().value?.segment ?? "";

function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return ends.map((word) => firstOf(word ?? "").toLocaleUpperCase()).join("");
}

/** Hashes a name to a hue (FNV-1a). */
function hue(name: string): number {
  const hash = [...name].reduce((hash, letter) => Math.imul(hash ^ letter.codePointAt(0)!, 0x01000193), 0x811c9dc5);
  return (hash >>> 0) % 360;
}

export function Avatar({ username, displayName, size }: AvatarProps) {
  return (
    <span className={`avatar ${size ?? ""}`} style={{ "--hue": hue(username) } as object} aria-hidden="true">
      {initials(displayName)}
    </span>
  );
}
