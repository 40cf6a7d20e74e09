"""Lessons whose cells may all be run again in one kernel, and prove the same."""

import pytest
import test_an_agent
import test_what_if

from workbench.testing import Notebook


@pytest.mark.parametrize(
    ("lesson", "proof"),
    [(test_an_agent.LESSON, "6 agents, 10 turns, 10 asks"), (test_what_if.LESSON, test_what_if.PROOF)],
    ids=lambda each: getattr(each, "stem", ""),
)
async def test_the_lesson_may_be_run_again_in_the_same_kernel(tmp_path, lesson, proof):
    async with Notebook(lesson, cwd=tmp_path) as nb:
        await nb.run_all()
        for cell in nb.notebook.cells:
            if cell.cell_type == "code":
                assert await nb.run(cell.metadata.tags[0]) == "finished"

        assert nb.errors == []
        assert nb.output("proof") == proof
