// The window of the approvals: joins the view to its kernel, and takes it away again.

import { h, render } from "preact";
import { Connection, type Model } from "../model";
import type { ApprovalsView } from "../types";
import { ApprovalsPanel } from "./view";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const connection = new Connection<ApprovalsView>(model);
    el.classList.add("wb-live");
    render(h(ApprovalsPanel, { connection }), el);
    return () => {
      render(null, el);
      connection.close();
    };
  },
};
