#!/usr/bin/env python3
"""What the tests of the manual must see, and what they must let pass."""

import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "docs", "site")]

import reference  # noqa: E402
from blocks import Page, PageError, agrees, blocks_of, commands_of  # noqa: E402
from terminal import Screen  # noqa: E402


class Agreement(unittest.TestCase):
    def test_lets_pass_what_is_another_each_time(self):
        self.assertTrue(agrees(["made after 2s", "at 10.0.0.1"], ["made after 1m3.5s", "at 127.99.1.7"]))
        self.assertTrue(agrees(["POD   STATE"], ["POD       STATE"]))
        self.assertTrue(agrees(["research/0 | a", "research/1 | b"], ["research/1 | b", "research/0 | a"]))
        self.assertTrue(agrees(["a", "…", "d"], ["a", "b", "c", "d"]))
        self.assertTrue(agrees(["…"], []))

    def test_sees_what_is_otherwise(self):
        self.assertFalse(agrees(["2 pods"], ["3 pods"]))
        self.assertFalse(agrees(["at 127.0.0.1:8470"], ["at 127.0.0.1:8471"]))
        self.assertFalse(agrees(["a", "b"], ["b", "a"]))
        self.assertFalse(agrees(["a"], ["a", "b"]))
        self.assertFalse(agrees(["a", "…", "d"], ["a", "d", "e"]))
        self.assertFalse(agrees(["research/0 | a"], ["research/1 | a"]))


class Blocks(unittest.TestCase):
    def run_page(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "page.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            page = Page(path, "/bin/false", False)
            page.go()
            return page

    def test_takes_a_session_from_one_block_to_the_next(self):
        page = self.run_page(
            "```sh\nmkdir a && cd a\nexport NAME=x\n```\n```yaml title=\"f/g.yaml\"\na: 1\n```\n"
            "```yaml title=\"f/g.yaml, added\"\nb: 2\n```\n"
            "```console\n$ echo $NAME; cat f/g.yaml\nx\na: 1\nb: 2\n$ false\n$ echo $?\n1\n```\n"
        )
        self.assertEqual(page.failures, [])
        self.assertEqual(page.run, 4)

    def test_fails_on_another_output_and_on_another_code(self):
        self.assertIn("+b", self.run_page("```console\n$ echo b\na\n```\n").failures[0])
        self.assertIn("ended with 3", self.run_page("```sh\nexit 3\n```\n").failures[0])
        self.assertIn("ended with 1", self.run_page("```console\n$ false\n```\n").failures[0])
        self.assertEqual(len(self.run_page("```console\n$ echo\n```\n```sh\nfalse\ntrue\n```\n").failures), 1)

    def test_counts_what_is_not_run_and_takes_no_other(self):
        page = self.run_page('```sh title="not run: it wants a cloud"\nfalse\n```\n')
        self.assertEqual([reason for _, reason in page.not_run], ["it wants a cloud"])
        for text in ("```text\nx\n```\n", '```sh title="other"\n', "```\nx\n```\n", "    ```sh\n    x\n    ```\n"):
            with self.assertRaises(PageError, msg=text):
                self.run_page(text)

    def test_types_what_a_command_goes_on_with(self):
        block = blocks_of("p", "```console\n$ a \\\n  b\nout\n$ c\n```")[0]
        self.assertEqual([(command, shown) for command, shown, _ in commands_of(block)], [("a \\\n  b", ["out"]), ("c", [])])


class AScreen(unittest.TestCase):
    def test_shows_what_is_left_after_drawing_in_place(self):
        screen = Screen(10)
        screen.feed("one\r\ntwo\r\n\x1b[1A\x1b[2K\x1b[32mthr".encode())
        screen.feed("\x1b[0".encode())
        screen.feed("mee\r\n".encode())
        self.assertEqual(screen.lines(), ["one", "three"])

    def test_puts_a_long_line_together_again(self):
        screen = Screen(4)
        screen.feed(b"abcdefghij\r\nk")
        self.assertEqual(screen.lines(), ["abcdefghij", "k"])
        self.assertEqual(len(screen.rows), 4)


class Reference(unittest.TestCase):
    SCHEMA = {
        "type": "object",
        "properties": {
            "project": {"type": "string", "description": "of every pod"},
            "defaults": {"$ref": "#/definitions/pod", "description": "under every pod"},
            "pods": {"type": "object", "description": "by name", "additionalProperties": {"$ref": "#/definitions/pod"}},
            **{f"k{i}": {"type": "boolean"} for i in range(10)},
        },
        "definitions": {
            "pod": {
                "properties": {
                    "acceleratorType": {"type": "string", "description": "such as v3-32"},
                    "disk": {"anyOf": [{"type": "integer", "minimum": 10}, {"$ref": "#/definitions/expression"}]},
                    "count": {"type": "integer"},
                    "dataDisks": {"type": "array", "items": {"properties": {"mode": {"enum": ["A", "B"]}}}},
                    "metadata": {"additionalProperties": {"oneOf": [{"type": "string"}, {"$ref": "#/definitions/file"}]}},
                }
            },
            "expression": {"type": "string", "pattern": "\\$\\{"},
            "file": {"type": "object", "properties": {"file": {"type": "string", "description": "its path"}}},
        },
    }

    def test_makes_a_page_of_a_schema(self):
        page = reference.spec_key_page(json.loads(json.dumps(self.SCHEMA)))
        for row in (
            "| `project` | text | of every pod |",
            "| `pods` | map of map | by name |",
            "| `pods.NAME.acceleratorType` | text | such as v3-32 |",
            "| `pods.NAME.dataDisks[].mode` | `A`, `B` |  |",
            "| `pods.NAME.disk` | number from 10 |  |",
            "| `pods.NAME.count` | number |  |",
            "| `defaults.…` |  | The keys of `pods.NAME`. |",
            "| `pods.NAME.metadata.NAME.file` | text | its path |",
            "| `k3` | true or false |  |",
        ):
            self.assertIn(row, page.split("\n"))
        self.assertNotIn("defaults.acceleratorType", page)

    def test_reads_flags_that_are_wider_than_their_column(self):
        self.assertEqual(
            reference.flags_of(["  --a NAME                       a name", "  --reservation ZONE/NAME/TYPE=N nodes set aside"]),
            [("--a NAME", "a name"), ("--reservation ZONE/NAME/TYPE=N", "nodes set aside")],
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
