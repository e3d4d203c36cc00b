"""A terminal: programs run in it as a person runs them, and what is on the screen then.

Knows what podctl and a shell write (lines, carriage returns, colours, the cursor going up, erasing);
anything else of a terminal's language is passed over. Needs Python 3.9 and nothing more.
"""

import codecs
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;?]*)([A-Za-z])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()].|[=>78])")


class Screen:
    """Rows of (character, style); a style is a frozenset of SGR numbers. Rows that leave the screen
    above are kept."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.joined = [False]  # whether a row goes on in the next one, as a long line does
        self.row = 0
        self.column = 0
        self.style = frozenset()
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data):
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = _SEQUENCE.match(text, at)
                if not match:
                    if len(text) - at < 64:  # its end may be still to come
                        self._rest = text[at:]
                        return
                    at += 1
                    continue
                if match.group(2):
                    self._control(match.group(1), match.group(2))
                at = match.end()
            else:
                self._put(text[at])
                at += 1

    def _put(self, character):
        if character == "\n":
            self._move(self.row + 1)
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif character >= " ":
            if self.column == self.columns:
                self.joined[self.row] = True
                self._move(self.row + 1)
                self.column = 0
            row = self.rows[self.row]
            row.extend([(" ", frozenset())] * (self.column - len(row)))
            row[self.column : self.column + 1] = [(character, self.style)]
            self.column += 1

    def _move(self, row):
        self.row = max(0, row)
        while self.row >= len(self.rows):
            self.rows.append([])
            self.joined.append(False)

    def _control(self, words, verb):
        numbers = [int(word) if word.isdigit() else 0 for word in words.split(";")]
        first = numbers[0]
        if verb == "A":
            self._move(self.row - max(1, first))
            self.column = min(self.column, self.columns - 1)
        elif verb == "B":
            self._move(self.row + max(1, first))
        elif verb == "C":
            self.column = min(self.columns - 1, self.column + max(1, first))
        elif verb == "D":
            self.column = max(0, self.column - max(1, first))
        elif verb == "G":
            self.column = max(0, first - 1)
        elif verb == "K":
            row = self.rows[self.row]
            if first == 0:
                del row[self.column :]
            elif first == 2:
                del row[:]
            self.joined[self.row] = False
        elif verb == "J" and first == 0:
            del self.rows[self.row][self.column :]
            del self.rows[self.row + 1 :]
            del self.joined[self.row + 1 :]
            self.joined[self.row] = False
        elif verb == "m":
            style = set(self.style)
            for number in numbers:
                if number == 0:
                    style.clear()
                elif number == 22:
                    style -= {1, 2}
                elif number == 39:
                    style = {one for one in style if one < 30}
                else:
                    if 30 <= number <= 37 or 90 <= number <= 97:
                        style = {one for one in style if one < 30}
                    style.add(number)
            self.style = frozenset(style)

    def lines(self):
        """The text, a row that was too long for the screen in one piece again."""
        lines, piece = [], ""
        for row, joined in zip(self.rows, self.joined):
            piece += "".join(character for character, _ in row)
            if not joined:
                lines.append(piece.rstrip())
                piece = ""
        while lines and not lines[-1]:
            lines.pop()
        return lines


class Terminal:
    """One program on a terminal of its own, in a session of its own. Not for several threads."""

    def __init__(self, words, environment, folder, columns=80, height=40):
        self.screen = Screen(columns)
        self.raw = b""
        self.code = None
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                # Before it looks how wide its screen is.
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, columns, 0, 0))
                os.chdir(folder)
                os.execvpe(words[0], words, environment)
            finally:
                os._exit(127)
        os.set_blocking(self.descriptor, False)

    def text(self):
        return "\n".join(self.screen.lines())

    def send(self, keys):
        os.write(self.descriptor, keys.encode())

    def read(self, seconds):
        """Takes what comes within that time; False when there will be nothing more."""
        if self.descriptor is None:
            return False
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.descriptor, 65536)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return True
            data = b""  # EIO: nobody has the other end open any more
        if not data:
            os.close(self.descriptor)
            self.descriptor = None
            return False
        self.raw += data
        self.screen.feed(data)
        return True

    def wait_until(self, condition, seconds):
        """Reads until `condition(self)`, the end, or the limit; whether the condition came true."""
        end = time.monotonic() + seconds
        while not condition(self):
            if time.monotonic() > end or not self.read(0.2):
                return condition(self)
            self.has_ended()
        return True

    def has_ended(self):
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds):
        """Its exit code (minus a signal's number), or None when it has not ended within that time.
        What it started and left on its terminal does not keep us."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            more = self.read(0.05)
            if self.has_ended():
                # What it has written and we have not read yet.
                while self.descriptor is not None and select.select([self.descriptor], [], [], 0)[0]:
                    if not self.read(0):
                        break
                return self.code
            if not more:
                time.sleep(0.02)
        return None

    def end(self, grace=10):
        """INT, as a Ctrl-C, to all of its session; KILL to what is left after that."""
        for number, patience in ((signal.SIGINT, grace), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            if self.code is not None:
                break
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                pass
            self.wait(patience)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
