import htm from 'htm';
import { type ComponentChildren, h as element, type FunctionComponent, type Key, type VNode } from 'preact';

export { render } from 'preact';
export { useEffect, useMemo, useRef, useState } from 'preact/hooks';

/** Hears an event of the window until what it gives back is called, as an effect does. */
export function listenOnWindow(type: string, listener: EventListener) {
  addEventListener(type, listener);
  return () => removeEventListener(type, listener);
}

/** What a component returns, and what may stand in one: an element, a text, some of these, or nothing. */
export type Html = ComponentChildren;

/** Markup as tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(element);

/** Draws a component: its properties are checked by the compiler here, and would not be in a template. */
export function h<Props>(
  component: (props: Props) => Html,
  props: NoInfer<Omit<Props, 'children'>> & { readonly key?: Key },
  children?: Html,
): VNode;
export function h(component: FunctionComponent, props: object, children?: Html): VNode {
  return children === undefined ? element(component, props) : element(component, props, children);
}
