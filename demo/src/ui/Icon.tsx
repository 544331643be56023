// Icons, 24 by 24 pixels, in the colour of the text. They are decorative: the text beside them has their meaning.

const DRAWINGS = {
  home: "M4 11.5 12 4l8 7.5M6.5 9.5V20h11V9.5M10 20v-5.5h4V20",
  person: "M12 12.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5c.8-3.6 3.9-5.5 7.5-5.5s6.7 1.9 7.5 5.5",
  chart: "M4.5 20.5h15M7 17v-5M12 17V5M17 17V9",
  settings:
    "M4 7h8m6 0h2M4 17h2m6 0h8M15 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM9 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  leave: "M14 4.5h-7.5v15h7.5M10.5 12h9.5M16.5 8.5 20 12l-3.5 3.5",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5",
  pencil: "M4.5 19.5l.8-4L16 4.8l3.2 3.2L8.5 18.7ZM13.5 7.3l3.2 3.2",
  reply: "M9 7 4.5 11.5 9 16M4.5 11.5H14a5.5 5.5 0 0 1 5.5 5.5v1.5",
  quote: "M9.5 6.5H5v5h4.5c0 3-1.5 5-4 6M19 6.5h-4.5v5H19c0 3-1.5 5-4 6",
  repost: "M4.5 13v-2a3 3 0 0 1 3-3H19M16 4.5 19.5 8 16 11.5M19.5 11v2a3 3 0 0 1-3 3H5M8 12.5 4.5 16 8 19.5",
  heart: "M12 20C5.5 15.6 3.5 12.3 3.5 9.3a4.6 4.6 0 0 1 8.5-2.4 4.6 4.6 0 0 1 8.5 2.4c0 3-2 6.3-8.5 10.7Z",
  bookmark: "M6.5 4.5h11v15.5l-5.5-4-5.5 4Z",
  up: "M12 19.5V5M6 11l6-6 6 6",
  place:
    "M12 20.5s6.5-5.7 6.5-10.5a6.5 6.5 0 0 0-13 0c0 4.8 6.5 10.5 6.5 10.5ZM12 12a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4Z",
  calendar: "M4.5 6.5h15v13h-15zM4.5 10.5h15M8.5 4v4M15.5 4v4",
  warning: "M12 4 2.8 20h18.4L12 4ZM12 10v4.5M12 17.2v.3",
  sound: "M4.5 9.5v5h3.5l4.5 4v-13l-4.5 4ZM16 9.5a4 4 0 0 1 0 5M18.5 7a7.5 7.5 0 0 1 0 10",
  silence: "M4.5 9.5v5h3.5l4.5 4v-13l-4.5 4ZM16 9.5l4.5 5M20.5 9.5l-4.5 5",
  block: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM6 6l12 12",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  waiting: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM12 7.5V12l3 2.5",
  requests: "M10 12.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM2.5 20.5c.8-3.6 3.9-5.5 7.5-5.5 2.3 0 4.4.8 5.8 2.3M16.5 10l2 2 4-4",
  none: "M7.5 12h.01M16.5 12h.01",
  following: "M4 12h15M13 6l6 6-6 6",
  follower: "M20 12H5M11 6l-6 6 6 6",
  mutual: "M4 8.5h15M15 4.5l4 4-4 4M20 16H5M9 12l-4 4 4 4",
} as const;

export type IconName = keyof typeof DRAWINGS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={DRAWINGS[name]} />
    </svg>
  );
}
