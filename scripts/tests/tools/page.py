#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""page.py PAGE - run the commands that a page of the documentation shows

Commands are the lines of literal blocks that begin with "# ", with the lines after one that
ends in a backslash, and after "<<END" or "<<'END'" up to END. They run one after the other in one shell. The
other lines of the block have to be in the output of the command before them, in this order, where
"..." stands for anything and blanks for any blanks. A line "(status N)" says with which status
the command ends, which otherwise is 0.
"""
import re
import subprocess
import sys

MARK = "== end of the command:"


def blocks(text):
    """the literal blocks, each as a list of lines"""
    lines = text.splitlines()
    i = 0
    while i < len(lines):
        i += 1
        if not lines[i - 1].endswith("::"):
            continue
        block = []
        while i < len(lines) and (not lines[i] or lines[i].startswith("    ")):
            block.append(lines[i][4:])
            i += 1
        yield "\n".join(block).strip("\n").split("\n")


def steps(block):
    """a block's commands, each with the lines expected of it"""
    command, end = None, None
    for line in block:
        if end is not None:
            command += "\n" + line
            if line == end or not end and not line.endswith("\\"):
                end = None
        elif line.startswith("# "):
            if command:
                yield command, expected
            command, expected = line[2:], []
            if line.endswith(("<<END", "<<'END'")):
                end = "END"
            elif line.endswith("\\"):
                end = ""
        elif line.strip():
            expected.append(line)
    yield command, expected


class Shell:
    def __init__(self):
        self.shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        """its output and status"""
        self.shell.stdin.write("{ %s\n} </dev/null; status=$?; echo; echo '%s' $status\n" % (command, MARK))
        self.shell.stdin.flush()
        output = []
        for line in self.shell.stdout:
            if line.startswith(MARK):
                return "".join(output), int(line[len(MARK):])
            print("   ", line, end="", flush=True)
            output.append(line)
        sys.exit("the shell has ended")


def check(output, status, expected):
    """what is missing, or None"""
    wanted, at = 0, 0
    for line in expected:
        if m := re.fullmatch(r"\(status (\d+)\)", line.strip()):
            wanted = int(m.group(1))
            continue
        pattern = r"\s+".join(re.escape(w).replace(r"\.\.\.", ".*?") for w in line.split())
        m = re.compile(pattern).search(output, at)
        if not m:
            return "there is no '%s'" % line.strip()
        at = m.end()
    return None if status == wanted else "status %d" % status


def main():
    shell = Shell()
    count = 0
    for block in blocks(open(sys.argv[1], encoding="utf-8").read()):
        if not block[0].startswith("# "):
            continue
        for command, expected in steps(block):
            print("#", command, flush=True)
            output, status = shell.run(command)
            missing = check(output, status, expected)
            if missing:
                sys.exit("FAIL: %s: %s" % (command, missing))
            count += 1
    print("%d commands of the page do what it says" % count)
    if not count:
        sys.exit("FAIL: no commands")


if __name__ == "__main__":
    main()
