import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { FakeModel } from "../gallery/fake";
import { Connection, GONE } from "../src/model";

type View = { text: string; now: number };

const state = { text: "a", now: 100 };

describe("the connection", () => {
  test("greets its kernel and is live only after the answer", () => {
    const model = new FakeModel(state, 1, false);

    const connection = new Connection<View>(model);

    assert.deepEqual(model.sent, [{ kind: "hello" }]);
    assert.equal(connection.phase, "greeting");
    assert.deepEqual(connection.view, state);
    model.say({ kind: "whole", revision: 4, state: { text: "b", now: 101 } });
    assert.equal(connection.phase, "live");
    assert.equal(connection.view?.text, "b");
  });

  test("applies patches in their order", () => {
    const model = new FakeModel(state);
    const connection = new Connection<View>(model);

    model.patch([["set", "/text", "b"]]);
    model.patch([["set", "/text", "c"]]);

    assert.equal(connection.view?.text, "c");
  });

  test("drops a patch that it has already", () => {
    const model = new FakeModel(state, 7);
    const connection = new Connection<View>(model);

    model.say({ kind: "patch", revision: 7, ops: [["set", "/text", "old"]] });

    assert.equal(connection.view?.text, "a");
  });

  test("asks for the whole once when a patch was missed", () => {
    const model = new FakeModel(state, 1, false);
    const connection = new Connection<View>(model);
    model.say({ kind: "whole", revision: 1, state });

    model.say({ kind: "patch", revision: 3, ops: [["set", "/text", "c"]] });
    model.say({ kind: "patch", revision: 4, ops: [["set", "/text", "d"]] });

    assert.deepEqual(model.sent.slice(1), [{ kind: "whole" }]);
    assert.equal(connection.view?.text, "a");
    model.say({ kind: "whole", revision: 4, state: { text: "d", now: 102 } });
    model.say({ kind: "patch", revision: 5, ops: [["set", "/text", "e"]] });
    assert.equal(connection.view?.text, "e");
  });

  test("asks for the whole when a patch does not fit", () => {
    const model = new FakeModel(state, 1, false);
    new Connection<View>(model);
    model.say({ kind: "whole", revision: 1, state });

    model.say({ kind: "patch", revision: 2, ops: [["del", "/nothing"]] });

    assert.deepEqual(model.sent[1], { kind: "whole" });
  });

  test("takes a newer state from the traits, and no older one", () => {
    const model = new FakeModel(state, 5);
    const connection = new Connection<View>(model);

    model.state = { text: "old", now: 1 };
    model.revision = 4;
    model.emit("change:state");
    assert.equal(connection.view?.text, "a");
    model.state = { text: "new", now: 1 };
    model.revision = 6;
    model.emit("change:state");

    assert.equal(connection.view?.text, "new");
  });

  test("gives a command its own reply", async () => {
    const model = new FakeModel(state);
    const connection = new Connection<View>(model);
    const other = new Connection<View>(model);

    const first = connection.command("approve", { id: "ap-1" });
    const second = other.command("approve", { id: "ap-1" });
    const [one, two] = model.commands();
    assert.notEqual(one?.id, two?.id);
    model.say({ kind: "reply", id: two?.id ?? "", error: "'ap-1' was approved by you" });
    model.say({ kind: "reply", id: one?.id ?? "", ok: { status: "approved" } });

    assert.deepEqual(await first, { ok: { status: "approved" } });
    assert.deepEqual(await second, { error: "'ap-1' was approved by you" });
  });

  test("knows within one event that the kernel is gone, and answers what was on its way", async () => {
    const model = new FakeModel(state);
    const connection = new Connection<View>(model, () => 5000);
    const waiting = connection.command("kill", {});

    model.die();

    assert.deepEqual([connection.phase, connection.goneAt], ["gone", 5000]);
    assert.deepEqual(await waiting, { error: GONE });
    assert.deepEqual(await connection.command("kill", {}), { error: GONE });
  });

  test("is live again when a kernel answers again", () => {
    const model = new FakeModel(state);
    const connection = new Connection<View>(model);
    model.die();

    model.alive = true;
    model.emit("comm_live_update");

    assert.deepEqual([connection.phase, connection.goneAt], ["live", null]);
  });

  test("says when a greeting is not answered, as in a saved picture, until it is", () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const model = new FakeModel(state, 1, false);
      const connection = new Connection<View>(model);

      mock.timers.tick(2999);
      assert.equal(connection.late, false);
      mock.timers.tick(1);
      assert.equal(connection.late, true);
      model.say({ kind: "whole", revision: 1, state });
      assert.deepEqual([connection.late, connection.phase], [false, "live"]);
    } finally {
      mock.timers.reset();
    }
  });

  test("sends no command before the kernel has answered", async () => {
    const model = new FakeModel(state, 1, false);
    const connection = new Connection<View>(model);

    await connection.command("approve", {});

    assert.deepEqual(model.commands(), []);
  });

  test("reads the kernel's clock, not its own", () => {
    let local = 1_000_000;
    const connection = new Connection<View>(new FakeModel({ text: "", now: 5000 }), () => local);

    local += 3000;

    assert.equal(connection.now(), 5003);
  });

  test("leaves nothing behind when it is closed", () => {
    const model = new FakeModel(state);
    const connection = new Connection<View>(model);

    connection.close();

    assert.equal(model.heard, 0);
  });
});
