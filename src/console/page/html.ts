import htm from 'htm';
import type { VNode } from 'preact';
import { h } from 'preact';

export { render } from 'preact';
export { useEffect, useMemo, useRef, useState } from 'preact/hooks';

/** What a component returns: an element, a text, or nothing. */
export type Html = VNode | VNode[] | string | null | false;

/** Markup as tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(h);
