// The window of a comparison: joins the view to its kernel, and takes it away again.

import { h, render } from "preact";
import { Connection, type Model } from "../model";
import type { CompareView } from "../types";
import { ComparePanel } from "./view";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const connection = new Connection<CompareView>(model);
    el.classList.add("wb-live");
    render(h(ComparePanel, { connection }), el);
    return () => {
      render(null, el);
      connection.close();
    };
  },
};
