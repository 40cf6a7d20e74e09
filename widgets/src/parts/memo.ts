// A component that is drawn again only when `same` says that its properties differ.

import { Component, type ComponentChildren, type FunctionComponent, h, type JSX } from "preact";

export function memo<P extends object>(view: (props: P) => JSX.Element, same: (before: P, after: P) => boolean): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !same(this.props as P, next as P);
    }
    override render(): ComponentChildren {
      return h(view, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
