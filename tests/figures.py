"""Reads a figure for tests: which texts are visible in it, which overlap, and which are cut off."""

from __future__ import annotations

import itertools


def texts(figure):
    """Return every visible text, as (words, box in pixels)."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    artists = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        artists += axes.texts
        if axes.axison:
            artists += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
            artists += [*_tick_labels(axes.xaxis), *_tick_labels(axes.yaxis)]
            artists += axes.get_legend().get_texts() if axes.get_legend() else []
    return [
        (artist.get_text().strip(), artist.get_window_extent(renderer))
        for artist in artists
        if artist.get_text().strip() and artist.get_visible()
    ]


def _tick_labels(axis):
    """Return the visible labels of an axis. matplotlib makes ticks beyond the ends, but does not draw them."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [tick.label1 for tick in ticks if low <= tick.get_loc() <= high and tick.label1.get_visible()]


def overlaps(figure):
    """Return the pairs of texts whose boxes share more than two pixels in both directions."""
    pairs = []
    for (a, box), (b, other) in itertools.combinations(texts(figure), 2):
        width = min(box.x1, other.x1) - max(box.x0, other.x0)
        height = min(box.y1, other.y1) - max(box.y0, other.y0)
        if width > 2 and height > 2:
            pairs.append((a, b))
    return pairs


def cut_off(figure):
    """Return the texts that reach beyond the figure."""
    width, height = figure.canvas.get_width_height()
    return [
        words for words, box in texts(figure) if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def words_of(figure):
    """Return all words that can be seen, in one string."""
    return "\n".join(words for words, _ in texts(figure))
