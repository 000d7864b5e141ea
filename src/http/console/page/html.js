import htm from './htm.js';
import { h } from './preact.js';

export { useEffect, useMemo, useRef, useState } from './hooks.js';
export { render } from './preact.js';

/** Markup as tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(h);
