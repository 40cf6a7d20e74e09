// The window of a team: joins the view to its kernel, and takes it away again.

import { h, render } from "preact";
import { Connection, type Model } from "../model";
import type { TeamView } from "../types";
import { TeamPanel } from "./view";

export default {
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const connection = new Connection<TeamView>(model);
    el.classList.add("wb-live");
    render(h(TeamPanel, { connection }), el);
    return () => {
      render(null, el);
      connection.close();
    };
  },
};
