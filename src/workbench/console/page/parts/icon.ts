import { html } from '#workbench/console/page/html.ts';

/** The lines of each icon, on a square of 16 by 16. */
const LINES = {
  Brand: 'M3 12h3V9h3V6h4',
  Today: 'M2 13.5h12M4 11V8M8 11V3.5M12 11V6',
  Find: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14',
  Rules: 'M6.5 3.5H14M6.5 8H14M6.5 12.5H14M2 3.5l.9.9L4.5 2.7M2 8l.9.9 1.6-1.7M2 12.5l.9.9 1.6-1.7',
  Rollouts: 'M8 1.8 14.2 5 8 8.2 1.8 5 8 1.8ZM2 8.4l6 3.1 6-3.1M2 11.4l6 3.1 6-3.1',
  Settings:
    'M2 4.5h6.5m4 0H14m-12 7h1.5m4 0H14m-5.5-7a2 2 0 1 0 4 0 2 2 0 0 0-4 0m-5 7a2 2 0 1 0 4 0 2 2 0 0 0-4 0',
} as const;

export type IconName = keyof typeof LINES;

/** Renders a picture that stands beside a word with the same meaning. */
export function renderIcon(name: IconName) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${LINES[name]} /></svg>`;
}
