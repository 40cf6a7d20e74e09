// The window of a run: joins the view to its kernel, and takes it away again.

import { h, render } from "preact";
import { Connection, type Model } from "../model";
import type { RunView } from "../types";
import { RunPanel } from "./view";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const connection = new Connection<RunView>(model);
    el.classList.add("wb-live");
    render(h(RunPanel, { connection }), el);
    return () => {
      render(null, el);
      connection.close();
    };
  },
};
