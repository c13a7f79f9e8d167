#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""check-conformance.py - are the tests there that the conformance table names?

usage: scripts/check-conformance.py [TOP-DIRECTORY]

The last column of each table in conformance.rst has tests, separated by
semicolons: a script of scripts/tests, and cases of what it runs. These are in
the TESTS() of the program in userspace/tests that it gives to "own", in the
KUnit suites, or in the python suite of rdma-core, where the table must not name
one that is skipped. A row that works or is refused has a test, but for what another
driver's calls could ask for (mlx5dv), which no program can ask of weft. The rows of the
table of vendor_err, those of weft(7) and what weft-why knows have the numbers and the
names of enum weft_fault (weft-why.h), all of them, and weft-why has a name for each
operation of enum weft_sqe_opcode (weft-abi.h). And admin.rst has the name of each
counter and of each tracepoint.
"""
import glob
import os
import re
import runpy
import subprocess
import sys

STATUS = re.compile(r"works|refused with E[A-Z]+|no service of weft can cause it|not yet")
REASON = re.compile(r"(\d+) ([A-Z_]+): ")
PYTHON_TEST = re.compile(r"test_\w+\.\w+\.test_\w+")
if sys.argv[1:2] in (["-h"], ["--help"]):
    sys.exit(print(__doc__))
top = os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.realpath(__file__)) + "/..")


def read(*path):
    with open(os.path.join(top, *path), encoding="utf-8") as f:
        return f.read()


def tables(text):
    """Each table, as its header and its rows, which are line numbers and cells."""
    header, rows = None, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(".. csv-table::"):
            header, rows = [], []
        elif header is None or not line.strip() or line.strip() == ":delim: |":
            continue
        elif line.startswith("   :header:"):
            header = [cell.strip() for cell in line.split(":header:")[1].split("|")]
        elif line.startswith("   "):
            rows.append((number, [cell.strip() for cell in line.split("|")]))
        else:
            yield header, rows
            header = None
    if header is not None:
        yield header, rows


def script_of(test):
    """The text of a test's script, or the commands of its line of a manifest; None: there is no such test."""
    path = os.path.join(top, "scripts/tests", test)
    if os.access(path, os.X_OK):
        return read(path)
    for manifest in glob.glob(os.path.dirname(path) + "/*.manifest"):
        for line in read(manifest).splitlines():
            name, *fields = map(str.strip, line.split("|"))
            if fields and name == os.path.basename(test):
                return fields[1].replace("; ", "\n")
    return None


def run_cases(text, program, known):
    """Those of the cases of a program that a script runs: which it names, or all."""
    text = text.replace("\\\n", " ")
    calls = re.findall(r'^own %s\b(.*)|\$WEFT_BIN/%s\b"?(.*)' % (program, program), text, re.M)
    words = [re.findall(r"\w+|\$", own + called) for own, called in calls]
    if any("$" in w or not set(w) & set(known) for w in words):
        return known
    return [case for case in known if any(case in w for w in words)]


def cases(test, text):
    """The cases of a test, with that script, that the table may name; None: it has none."""
    programs = re.findall(r"^own (\w+)", text, re.M) + re.findall(r"\$WEFT_BIN/(\w+)", text)
    for built in re.findall(r"^own_build (.+)", text, re.M):
        programs += built.split()
    listed = {p: re.search(r"^TESTS\((.*?)^\)", read("userspace/tests", p + ".c"), re.M | re.S)
              for p in programs if os.path.exists(os.path.join(top, "userspace/tests", p + ".c"))}
    if listed:
        known = [(p, re.findall(r"\bTEST\((\w+)\)", m[1])) for p, m in listed.items() if m]
        return [case for p, names in known for case in run_cases(text, p, names)] or None
    if test.startswith("kunit/"):
        sources = [n for n in os.listdir(os.path.join(top, "kunit")) if n.endswith(".c")]
        return re.findall(r"\bKUNIT_CASE(?:_PARAM)?\((\w+)", "".join(read("kunit", n) for n in sources))
    return None


def python_error(name, skips):
    """What is wrong with a test of the python suite, or None; the file lists those that are skipped."""
    if not PYTHON_TEST.fullmatch(name):
        return "'%s' is no name of a python test" % name
    if re.search("^%s:" % re.escape(name), read("scripts/tests/verbs", skips), re.M):
        return "%s is skipped" % name
    return None


def test_errors(entry):
    """What is wrong with an entry: TEST CASE..."""
    test, *names = entry.split()
    text = script_of(test)
    if text is None:
        return ["there is no test %s" % test]
    known = cases(test, text)
    is_python = known is None and ("run_suite" in text or "pyverbs-release" in text)
    # what runs programs by itself shows something with them, and need not be known by their cases
    if not names and (known and re.search(r"^own |^modprobe weft_kunit", text, re.M) or is_python):
        return ["%s: no case is named" % test]
    if is_python:
        skips = re.search(r"\bpyverbs-\d+\.skips|$", text)[0] or "pyverbs.skips"
        return [e for e in (python_error(name, skips) for name in names) if e]
    return ["%s has no case %s" % (test, n) for n in names if n not in (known or ())]


def faults(completed):
    """The numbers and names of enum weft_fault; if @completed those that are in completions."""
    text = read("include/uapi/rdma/weft-why.h")
    enum = re.search(r"^enum weft_fault {\n(.*?)^}", text, re.M | re.S)[1]
    rows = re.findall(r"/\*(.*?)\*/\n\tWEFT_FAULT_(\w+)\s*= (\d+),", enum, re.S)
    return {(int(number), name) for said, name, number in rows if not (completed and "in no completion" in said)}


def reason_tables(reasons):
    """Where the reasons are listed, with those that are there, and those that have to be."""
    tool = subprocess.run([os.path.join(top, "userspace/tools/weft-why"), "--reasons"], capture_output=True, text=True, check=True)
    page = read("userspace/providers/weft/man/weft.7")
    yield "conformance.rst", reasons, faults(True)
    yield "weft.7", re.findall(r'^\.BR (\d+) " WEFT_FAULT_(\w+)"$', page, re.M), faults(True)
    yield "weft-why", re.findall(r"^ *(\d+) (\w+)$", tool.stdout, re.M), faults(False)


def reason_errors(reasons):
    """What is wrong with the lists of reasons. @reasons: first cells of the table here, NUMBER NAME: ..."""
    said = [REASON.match(cell) for cell in reasons]
    errors = ["vendor_err: a row without number and name"] * said.count(None)
    for where, has, wants in reason_tables([(match[1], match[2]) for match in said if match]):
        has = {(int(number), name) for number, name in has}
        errors += ["%s: %d is not %s" % (where, number, name) for number, name in sorted(has - wants)]
        errors += ["%s: %d %s is missing" % (where, number, name) for number, name in sorted(wants - has)]
    return errors


def operation_errors():
    """What is wrong with the operations that weft-why knows by name."""
    enum = re.search(r"^enum weft_sqe_opcode {\n(.*?)^}", read("include/uapi/rdma/weft-abi.h"), re.M | re.S)[1]
    wants = [(int(number), name) for name, number in re.findall(r"^\tWEFT_SQE_(\w+)\s*= (\d+),", enum, re.M)]
    known = runpy.run_path(os.path.join(top, "userspace/tools/weft-why"))["OPERATIONS"]
    has = [(number, name) for number, (name, _) in enumerate(known)] + [(len(known), "OPCODES")]
    return ["weft-why: operation %d %s is missing or has another name" % row for row in wants if row not in has] + \
        ["weft-why: there is no operation %d %s" % row for row in has if row not in wants]


def row_errors(header, row):
    if len(row) != len(header):
        return ["%d cells, not %d" % (len(row), len(header))]
    errors = []
    if header[1] == "status" and not STATUS.fullmatch(row[1]):
        errors.append("'%s' is no status" % row[1])
    if not row[-1] and not header[0].startswith("mlx5dv") and \
            (header[1] != "status" or row[1].startswith(("works", "refused"))):
        errors.append("there is no test")
    for test in filter(None, map(str.strip, row[-1].split(";"))):
        errors += test_errors(test)
    return errors


def observed():
    """What a running device shows: the names of counters and of tracepoints."""
    driver = "drivers/infiniband/sw/weft/"
    yield from re.findall(r"^\tX\(\w+, (\w+),", read(driver + "stats.h"), re.M)
    yield from re.findall(r"^TRACE_EVENT\((\w+),", read(driver + "trace.h"), re.M)
    yield from re.findall(r"^DEFINE_EVENT\(\w+, (\w+),", read(driver + "trace.h"), re.M)


def unexplained():
    """Those of which the administrator is told nothing."""
    text = read("Documentation/infiniband/weft/admin.rst")
    return [name for name in observed() if "``%s``" % name not in text]


def main():
    name = "Documentation/infiniband/weft/conformance.rst"
    num, bad = 0, 0
    for what in unexplained():
        print("Documentation/infiniband/weft/admin.rst: nothing of %s" % what)
        bad += 1
    reasons = [row[0] for header, rows in tables(read(name)) if header[0] == "vendor_err" for _, row in rows]
    for error in reason_errors(reasons) + operation_errors():
        print(error)
        bad += 1
    for header, rows in tables(read(name)):
        for number, row in rows:
            num += 1
            for error in row_errors(header, row):
                print("%s:%d: %s: %s" % (name, number, row[0], error))
                bad += 1
    if not num:
        print("%s: no rows" % name)
    elif not bad:
        print("%d rows" % num)
    sys.exit(bool(bad or not num))


main()
