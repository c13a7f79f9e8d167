#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""check-layers.py - do the driver's files include only what they may?

usage: scripts/check-layers.py [DRIVER-DIRECTORY]

A file may include its own layer and those with a lower number, but nothing of a
directory beside its own on the same layer. Among the headers there is no cycle,
and each header declares what one .c file defines: what is in x.h is in x.c, and
x.c includes x.h before anything else.
"""
import os
import re
import sys

LAYER = {"compat": 0, "wire": 1, "inet": 1, "ring": 2, "mem": 2, "fabric": 2, "flow": 2, "object": 3, "engine": 4,
         "link": 5, "verbs": 6, "": 7}
# Headers of the top directory that may be included by layers from this number on.
LEAVES = {"params.h": 0, "pause.h": 0, "stats.h": 3, "trace.h": 3}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer(name):
    if name in LEAVES:
        return LEAVES[name]
    return LAYER[os.path.dirname(name)]


def main_header(name):
    """What the file has to include first."""
    return name[:-2] + ".h"


def cycle(graph):
    """Some cycle of the graph as a list, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for other in sorted(graph.get(node, ())):
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return None

    for node in sorted(graph):
        found = visit(node)
        if found:
            return found
    return None


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__))
    here = os.path.dirname(os.path.realpath(__file__))
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../drivers/infiniband/sw/weft")
    errors = []
    includes = {}
    for where, _, names in os.walk(top):
        for name in names:
            path = os.path.normpath(os.path.join(os.path.relpath(where, top), name))
            if not path.endswith((".c", ".h")) or path.endswith(".mod.c"):
                continue
            if os.path.dirname(path) not in LAYER:
                errors.append("%s: its directory is no layer" % path)
                continue
            with open(os.path.join(top, path), encoding="utf-8") as f:
                includes[path] = INCLUDE.findall(f.read())

    for path, targets in sorted(includes.items()):
        for target in targets:
            if target not in includes:
                errors.append('%s: "%s" is no file of the driver (write it from the driver\'s directory)'
                              % (path, target))
            elif layer(target) > layer(path) and path not in LEAVES or \
                    path in LEAVES and target not in LEAVES and layer(target) >= 3:
                errors.append("%s (layer %d) includes %s (layer %d)"
                              % (path, layer(path), target, layer(target)))
            elif layer(target) == layer(path) and os.path.dirname(target) != os.path.dirname(path) \
                    and target not in LEAVES and path not in LEAVES:
                errors.append("%s includes %s, which is beside it" % (path, target))
        if path.endswith(".c") and main_header(path) in includes and targets[:1] != [main_header(path)]:
            errors.append("%s does not include %s first" % (path, main_header(path)))

    found = cycle({p: [t for t in ts if t in includes] for p, ts in includes.items() if p.endswith(".h")})
    if found:
        errors.append("headers include each other: " + " -> ".join(found))

    for e in errors:
        print(e)
    if not includes:
        errors.append("%s: no file of the driver" % top)
        print(errors[0])
    if not errors:
        print("%d files in %d layers" % (len(includes), len(set(LAYER.values()))))
    sys.exit(bool(errors))


main()
