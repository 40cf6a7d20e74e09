// The window of a process: joins the view to its kernel, and takes it away again.

import { h, render } from "preact";
import { Connection, type Model } from "../model";
import type { ProcessView } from "../types";
import { ProcessPanel } from "./view";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const connection = new Connection<ProcessView>(model);
    el.classList.add("wb-live");
    render(h(ProcessPanel, { connection }), el);
    return () => {
      render(null, el);
      connection.close();
    };
  },
};
