// The picture of a user or, without one, the initials of the name on a colour derived from the username.

import { useState } from "react";

interface AvatarProps {
  username: string;
  displayName: string;
  avatarUrl: string | null;
  size?: "tiny" | "small" | "large";
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

export function Avatar({ username, displayName, avatarUrl, size }: AvatarProps) {
  const [failedUrl, setFailedUrl] = useState<string>();
  const hasPicture = avatarUrl !== null && avatarUrl !== failedUrl;
  return (
    <span className={`avatar ${size ?? ""}`} style={{ "--hue": hue(username) } as object} aria-hidden="true">
      {hasPicture ? (
        <img
          src={avatarUrl}
          alt=""
          loading="lazy"
          referrerPolicy="no-referrer"
          onError={() => setFailedUrl(avatarUrl)}
        />
      ) : (
        initials(displayName)
      )}
    </span>
  );
}
