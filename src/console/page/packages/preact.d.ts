export type { ComponentChildren, VNode } from 'preact';
export { h, render } from 'preact';
