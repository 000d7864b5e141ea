import htm from 'htm';
import { type ComponentChildren, h as element, type FunctionComponent, type Key, type VNode } from 'preact';

export { render } from 'preact';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

/** Listens to an event of the window. The returned function ends that, so an effect can return it. */
export function listenOnWindow(type: string, listener: EventListener) {
  addEventListener(type, listener);
  return () => removeEventListener(type, listener);
}

/** A value that a component returns or may contain: an element, a text, several of these, or nothing. */
export type Html = ComponentChildren;

/** Builds markup from tagged templates. Values become text or properties, never markup. */
export const html = htm.bind(element);

/**
 * Creates an element of a component. Here the compiler checks the component's properties, which it cannot
 * do in a template.
 */
export function h<Props>(
  component: (props: Props) => Html,
  props: NoInfer<Omit<Props, 'children'>> & { readonly key?: Key },
  children?: Html,
): VNode;
export function h(component: FunctionComponent, props: object, children?: Html): VNode {
  return children === undefined ? element(component, props) : element(component, props, children);
}
