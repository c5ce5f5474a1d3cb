"""How Sphinx makes the site out of the Markdown pages (make docs)."""

project = "Couplet"
author = "The Couplet developers"
copyright = "2026, The Couplet developers"
extensions = ["myst_parser", "sphinx.ext.githubpages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Couplet"
html_static_path: list[str] = []
# Headings can be linked to as on a code hosting site.
myst_heading_anchors = 4
suppress_warnings = ["myst.xref_missing_outside", "misc.highlighting_failure"]
