"""What the site needs beyond the folder docs/: the README, the changelog and CONTRIBUTING as pages, and
whatever else of the source tree a page links to, so that no link of the manual leads out of the site.
The pages stay as they are on a forge; links are turned only on their way into the site.
"""

import html
import os
import posixpath
import re

import pygments
from mkdocs.structure.files import File
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {
    "README.md": "project/readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(`+)[^`]*\1")


def _in_tree(src):
    """Where a page of the site stands in the source tree."""
    for name, page in PAGES.items():
        if page == src:
            return name
    return "docs/" + src


def _in_site(path):
    """Where a file of the source tree stands in the site; None for what is not taken there."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path[len("docs/") :]
    if os.path.isfile(os.path.join(TOP, path)):
        return "source/" + path + ("" if path.endswith(".txt") else ".txt")
    return None


def _target(page, link):
    """The path in the tree that `link` of the page of that path names, and its anchor."""
    path, hash_sign, anchor = link.partition("#")
    if not path:
        return page, hash_sign + anchor
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path)), hash_sign + anchor


def _prose(markdown):
    """[(line, whether it is no code)]"""
    inside = None
    for line in markdown.split("\n"):
        fence = re.match(r"^ *(```+|~~~+)", line)
        if inside:
            if fence and line.strip().startswith(inside):
                inside = None
            yield line, False
        elif fence:
            inside = fence.group(1)
            yield line, False
        else:
            yield line, not line.startswith("    ")


def _links(markdown):
    for line, is_prose in _prose(markdown):
        if is_prose:
            yield from LINK.findall(CODE.sub("", line))


def _read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def _opens_block(line, before):
    """Whether a list or table begins right below a paragraph: a forge sees it there, and Python's Markdown
    only behind an empty line."""
    if not before.strip() or before.startswith((" ", "#", ">", "<!--")):
        return False
    if re.match(r"^(?:[-*]|\d+\.) ", line):
        return not re.match(r"^(?:[-*]|\d+\.) ", before)
    return line.startswith("|") and not before.startswith("|")


# ---- Blocks of a console. Pygments takes a line that begins with # for a prompt, as plans have them.


def _take_title(language, inputs, options, attrs, md):
    options.update(inputs)
    return set(inputs) <= {"title"}


def _console(source, language, css_class, options, md, **_):
    lines, typed = [], False
    for line in source.split("\n"):
        prompt = "" if typed else line[:2] if line.startswith("$ ") else None
        if prompt is None:
            lines.append(f'<span class="go">{html.escape(line)}\n</span>')  # the end too is not copied
            continue
        command = pygments.highlight(line[len(prompt) :], BashLexer(), HtmlFormatter(nowrap=True)).rstrip("\n")
        lines.append((f'<span class="gp">{prompt}</span>' if prompt else "") + command + "\n")
        typed = line.endswith("\\")
    title = f'<span class="filename">{html.escape(options["title"])}</span>' if options.get("title") else ""
    return f'<div class="highlight">{title}<pre><span></span><code>' + "".join(lines) + "</code></pre></div>"


def on_config(config):
    console = {"name": "console", "class": "highlight", "format": _console, "validator": _take_title}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [console]
    return config


def on_files(files, config):
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=_read(name)))
    wanted = set()
    for file in list(files.documentation_pages()):
        page = _in_tree(file.src_uri)
        for link in _links(file.content_string):
            if "://" in link or link.startswith("mailto:"):
                continue
            path, _ = _target(page, link)
            place = _in_site(path)
            if place and place.startswith("source/"):
                wanted.add((path, place))
    for path, place in sorted(wanted):
        files.append(File.generated(config, place, content=_read(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    in_tree = _in_tree(here)

    def turn(match):
        link = match.group(0)
        if "://" in link or link.startswith(("#", "mailto:")):
            return link
        path, anchor = _target(in_tree, link)
        place = _in_site(path)
        if place is None:
            return link  # mkdocs complains
        return posixpath.relpath(place, posixpath.dirname(here) or ".") + anchor

    lines = []
    for line, is_prose in _prose(markdown):
        if is_prose:
            if _opens_block(line, lines[-1] if lines else ""):
                lines.append("")
            # Code is set aside, as nothing in it is a link.
            codes = []

            def keep(match):
                code = match.group(0)
                codes.append(code.replace("\\|", "|") if line.startswith("|") else code)
                return f"\0{len(codes) - 1}\0"

            line = CODE.sub(keep, line)
            line = LINK.sub(turn, line)
            line = re.sub("\0(\\d+)\0", lambda match: codes[int(match.group(1))], line)
        lines.append(line)
    return "\n".join(lines)
