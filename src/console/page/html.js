import htm from './packages/htm.js';
import { h } from './packages/preact.js';

/** @import { VNode } from './packages/preact.js' */

export { useEffect, useMemo, useRef, useState } from './packages/hooks.js';
export { render } from './packages/preact.js';

/** What a component returns: an element, a text, or nothing. */
/** @typedef {VNode | VNode[] | string | null | false} Html */

/** Markup as tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(h);
