import htm from 'htm';
import { h } from 'preact';

/** @import { VNode } from 'preact' */

export { render } from 'preact';
export { useEffect, useMemo, useRef, useState } from 'preact/hooks';

/** What a component returns: an element, a text, or nothing. */
/** @typedef {VNode | VNode[] | string | null | false} Html */

/** Markup as tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(h);
