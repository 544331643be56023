// A picture of somebody, drawn from the name: initials on a colour that is always the same.

interface AvatarProps {
  username: string;
  displayName: string;
  size?: 'small' | 'large';
}

const graphemes = new Intl.Segmenter();
const firstOf = (word: string) => graphemes.segment(word)[Symbol.iterator]().next().value?.segment ?? '';

function initials(name: string): string {
  const words = name.trim().split(/\s+/);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return ends.map((word) => firstOf(word ?? '').toLocaleUpperCase()).join('');
}

/** Spreads names over the circle of colours. */
const hue = (name: string) => [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 360, 7);

export function Avatar({ username, displayName, size }: AvatarProps) {
  return (
    <span className={`avatar ${size ?? ''}`} style={{ '--hue': hue(username) } as object} aria-hidden="true">
      {initials(displayName)}
    </span>
  );
}
