"""Tests of `hearth chat` at a terminal: each key and command, byte for byte, with a scripted
server, and with the demo model that the verb itself loads."""

import os
import signal
import stat
import sys
import time
from pathlib import Path

import chain_models
from chat_server import ChatServer
from program import ProgramTest
from terminal import Terminal

PASTE = b"\x1b[200~%s\x1b[201~"
ON, OFF = "\x1b[?2004h", "\x1b[?2004l"  # marking of pastes, on while a line is read
NEXT = ON + "> "
GREETING = "Chat with stub; /help lists commands, Ctrl-D ends.\r\n"


class ChatTest(ProgramTest):
    def setUp(self):
        self.server = ChatServer()
        self.server.__enter__()
        self.addCleanup(self.server.end)
        self.home = self.folder / self.id()
        self.home.mkdir()

    def at_terminal(self, *words, columns=80, env=None):
        words = ["chat", *map(str, words)] if words[:1] != ("run",) else [*map(str, words)]
        ProgramTest.calls.append((None, words))
        terminal = Terminal([*ProgramTest.command, *words], columns,
                            {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"),
                             "NO_COLOR": "", **(env or {})})
        self.addCleanup(terminal.process.kill)
        return terminal

    def talk(self, *words, columns=80, env=None):
        """A chat with the server, at its first prompt."""
        terminal = self.at_terminal(self.server.url, *words, columns=columns, env=env)
        terminal.wait(NEXT)
        return terminal

    def say(self, terminal, line, end="\r"):
        """The output after a line, up to the next prompt."""
        terminal.send(line + end)
        if line:
            terminal.wait(OFF)
        return terminal.wait(NEXT)[:-len(NEXT)].decode()

    def ends(self, terminal, status=0):
        terminal.send("\x04")
        self.assertEqual(terminal.end(), status)

    def test_an_answer_byte_for_byte(self):
        chat = self.talk()
        self.assertEqual(chat.seen.decode(), GREETING + NEXT)
        chat.send("What is it?\r")
        self.assertEqual(chat.wait(NEXT).decode(),
                         "What is it?\r\n" + OFF + "What is it?\r\n" + NEXT)
        self.assertEqual(self.say(chat, "think"), "\x1b[2mLet me see.\r\n\x1b[0m\r\nIt is so.\r\n")
        self.assertEqual(self.say(chat, "bytes"), "a[2Jb\r\n")
        self.assertEqual(self.server.said()[:2], [("user", "What is it?"),
                                                  ("assistant", "What is it?")])
        self.ends(chat)

    def test_words_are_wrapped_at_each_width(self):
        for columns in (80, 20, 10):
            chat = self.talk(columns=columns)
            shown = self.say(chat, "long 30").split("\r\n")
            self.assertEqual(" ".join(shown).split(), [f"word{i}" for i in range(30)])
            self.assertLessEqual(max(map(len, shown)), columns)
            self.assertGreater(min(map(len, shown[:-2])), columns - 8)
            self.ends(chat)

    def test_without_colours(self):
        chat = self.talk(env={"NO_COLOR": "1"})
        self.assertEqual(self.say(chat, "think"),
                         "(thinking)\r\nLet me see.\r\n(answer)\r\nIt is so.\r\n")
        self.ends(chat)

    def test_keys(self):
        chat = self.talk()
        for typed, sent in (("one\x1b\rtwo", "one\ntwo"),  # Alt-Enter
                            ("ab\x01c", "cab"),  # Ctrl-A
                            ("ab\x1b[Dc\x1b[Fd\x1b[He\x1b[C\x1b[3~", "eabd"),
                            ("one two\x17three", "one three"),  # Ctrl-W
                            ("gr\xfc\xdf", "gr\xfc\xdf"),
                            ("\x1b[A", "gr\xfc\xdf"),  # Up
                            ("\x1b[A\x1b[A\x1b[B", "gr\xfc\xdf"),
                            ('"""a\rb\r"""', "a\nb"),
                            ('"""a\rb"""', "a\nb"),
                            ("//etc is?", "/etc is?")):
            chat.send(typed + "\r")
            deadline = time.monotonic() + 60
            while not self.server.asked or self.server.said()[-1] != ("user", sent):
                chat.take(0.05)
                self.assertLess(time.monotonic(), deadline, (typed, self.server.asked[-1:]))
            chat.wait(OFF + sent.replace("\n", "\r\n"))
            chat.wait(NEXT)
        self.ends(chat)

    def test_bytes_that_are_no_text(self):
        chat = self.talk()
        chat.send(b"a\xff\xc3b\r")
        chat.wait(NEXT)
        self.assertEqual(self.server.said()[-1], ("user", "a\ufffd\ufffdb"))
        self.ends(chat)

    def test_a_paste_is_one_message(self):
        chat = self.talk()
        chat.send(PASTE % b"one\r two\xff\rthree\x07" + b" end\r")
        chat.wait(NEXT)
        self.assertEqual(self.server.said()[-1], ("user", "one\n two\ufffd\nthree end"))
        # The paste has a MiB, in the middle of a line.
        pasted = b"".join(b"line %d\n" % i for i in range(90000))
        chat.send(b"See " + PASTE % pasted + b" there\r")
        shown = chat.wait(OFF).decode()
        self.assertIn(f"[paste 1: {len(pasted)} characters]", shown)
        chat.wait("\r\nline 89999\r\n there\r\n")
        chat.wait(NEXT)
        self.assertEqual(self.server.said()[-1], ("user", f"See {pasted.decode()} there"))
        self.ends(chat)

    def test_commands(self):
        chat = self.talk("--system", "Be brief.", "--no-history")
        self.assertIn("/regen", self.say(chat, "/help"))
        self.assertEqual(self.say(chat, "/undo"), "there is no message yet\r\n")
        self.assertEqual(self.say(chat, "/system"), "Be brief.\r\n")
        self.assertEqual(self.say(chat, "one"), "one\r\n")
        self.assertEqual(self.server.said(), [("system", "Be brief."), ("user", "one")])
        self.assertEqual(self.say(chat, "/system off"), "")
        self.assertEqual(self.say(chat, "/regen"), "one\r\n")
        self.assertEqual(self.server.said(), [("user", "one")])
        self.assertEqual(self.say(chat, "two"), "two\r\n")
        self.assertEqual(self.say(chat, "/undo"), "")
        self.say(chat, "three")
        self.assertEqual(self.server.said(),
                         [("user", "one"), ("assistant", "one"), ("user", "three")])
        self.assertRegex(self.say(chat, "/stats"),
                         r"^last answer: read 10 tokens, 10 of them reused; wrote 4, .*\r\nall 4 ")
        self.assertEqual(self.say(chat, "/clear"), "")
        self.say(chat, "four")
        self.assertEqual(self.server.said(), [("user", "four")])
        self.assertIn("there is no command /nope", self.say(chat, "/nope"))
        chat.send("/exit\r")
        self.assertEqual(chat.end(), 0)
        self.assertFalse((self.home / "state").exists())

    def test_settings(self):
        chat = self.talk("--model", "other")
        for line in ("/set temperature 0.5", "/set stop END", "/think off"):
            self.assertEqual(self.say(chat, line), "")
        self.assertEqual(self.say(chat, "/set"), "stop \"END\"\r\ntemperature 0.5\r\n")
        self.assertIn("there is no setting 'temp'", self.say(chat, "/set temp 1"))
        self.assertIn("takes a number", self.say(chat, "/set top_k true"))
        self.say(chat, "hello")
        asked = self.server.asked[-1]
        self.assertEqual((asked["temperature"], asked["stop"], asked["model"]),
                         (0.5, "END", "other"))
        self.assertEqual(asked["chat_template_kwargs"], {"enable_thinking": False})
        self.say(chat, "/set temperature default")
        self.say(chat, "/think on")
        self.assertEqual(self.say(chat, "/model"), "stub\r\nother (in use)\r\n")
        self.say(chat, "/model stub")
        self.say(chat, "hello")
        asked = self.server.asked[-1]
        self.assertNotIn("temperature", asked)
        self.assertEqual(asked["chat_template_kwargs"], {"enable_thinking": True})
        self.assertEqual(asked["model"], "stub")
        self.ends(chat)

    def test_files(self):
        note, kept = self.home / "note.txt", self.home / "kept.json"
        note.write_text("seven owls")
        chat = self.talk()
        self.assertEqual(self.say(chat, f"/read {note}"), "10 bytes go with your next message\r\n")
        self.say(chat, "How many?")
        self.assertEqual(self.server.said(), [("user", f"{note}:\n\nseven owls\n\nHow many?")])
        self.assertIn("does not exist", self.say(chat, "/read none.txt"))
        self.assertIn("is not a saved conversation", self.say(chat, f"/save {note}"))
        self.assertEqual(note.read_text(), "seven owls")
        self.assertEqual(self.say(chat, f"/save {kept}"), "")
        said = self.server.said()
        self.say(chat, "/clear")
        self.assertIn("JSON", self.say(chat, f"/load {note}"))
        self.assertEqual(self.say(chat, f"/load {kept}"), "2 turns\r\n")
        self.say(chat, "more")
        self.assertEqual(self.server.said()[:1], said)
        # Completes a command, a file name, and an ambiguous beginning.
        chat.send("/re\t")
        chat.wait("/regen  /read")
        chat.send("\x15" + f"/load {self.home}/k\t\r")
        chat.wait("2 turns\r\n" + NEXT)
        self.ends(chat)

    def test_the_editor(self):
        script = self.home / "editor.sh"
        script.write_text("#!/bin/sh\nprintf ' and more\\nlines\\n' >> \"$1\"\n")
        script.chmod(0o755)
        chat = self.talk(env={"EDITOR": str(script), "VISUAL": ""})
        self.assertEqual(self.say(chat, "/edit words"), "words and more\r\nlines\r\n")
        self.assertEqual(self.server.said(), [("user", "words and more\nlines")])
        self.ends(chat)
        chat = self.talk(env={"EDITOR": "false", "VISUAL": ""})
        self.assertIn("'false' failed, so nothing is sent", self.say(chat, "/edit"))
        self.ends(chat)

    def test_the_editor_has_the_terminal_to_itself(self):
        script = self.home / "editor.py"
        script.write_text("import signal, sys, tty\n"
                          "def tell(number, _):\n"
                          "    print('signal', number, flush=True)\n"
                          "signal.signal(signal.SIGINT, tell)\n"
                          "signal.signal(signal.SIGCONT, tell)\n"
                          "print('editing', flush=True)\n"
                          "open(sys.argv[1], 'a').write(sys.stdin.readline())\n"
                          "tty.setraw(0)\n")
        chat = self.talk(env={"EDITOR": f"{sys.executable} {script}", "VISUAL": ""})
        chat.send("/edit\r")
        chat.wait("editing")
        chat.send("\x03")
        chat.wait(f"signal {int(signal.SIGINT)}")
        # No shell could resume the chat, so Ctrl-Z stops neither the chat nor the editor for long.
        chat.send("\x1a")
        chat.wait(f"signal {int(signal.SIGCONT)}")
        chat.send("slow\r")
        chat.wait("w8 ")
        chat.send("\x03")
        chat.wait("stopped; the partial answer is kept: /regen asks again")
        chat.wait(NEXT)
        self.assertEqual(self.say(chat, "fine"), "fine\r\n")
        self.ends(chat)

    def test_texts_of_a_server_move_no_cursor(self):
        self.server.server.names = ["st\x1b[2Jub\n> x", "other"]
        chat = self.talk()
        self.assertIn("Chat with st\\x1b[2Jub\\x0a> x;", chat.seen.decode())
        self.assertIn("no\\x1b[2J\\x0a> yes; your message", self.say(chat, "forge"))
        self.assertEqual(self.say(chat, "/model"), "st\\x1b[2Jub\\x0a> x (in use)\r\nother\r\n")
        self.ends(chat)

    def test_history(self):
        chat = self.talk()
        self.say(chat, "first")
        self.say(chat, "one\x1b\rtwo")
        self.ends(chat)
        path = self.home / "state" / "hearth" / "chat_history"
        self.assertEqual(path.read_text(), "first\none\\ntwo\n")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        chat = self.talk()
        self.assertEqual(self.say(chat, "\x1b[A\x1b[A"), "first\r\n")
        self.ends(chat)

    def test_interrupts(self):
        chat = self.talk()
        chat.send("abc")
        chat.wait("abc")
        chat.send("\x03")
        self.assertEqual(chat.wait(NEXT).decode(), OFF + "^C\r\n" + NEXT)
        chat.send("slow\r")
        chat.wait("w3 w4")
        chat.send("\x03")
        chat.wait("\r\nstopped; the partial answer is kept: /regen asks again\r\n" + NEXT)
        self.say(chat, "then")
        kept = self.server.said()[1]
        self.assertEqual(kept[0], "assistant")
        self.assertTrue(kept[1].startswith("w0 w1 w2 w3 w4 "), kept)
        # Ctrl-C is typed between question and answer, and within a question of several lines.
        chat.send('"""a\r')
        chat.wait("... ")
        chat.send("\x03")
        chat.wait("^C\r\n" + NEXT)
        self.assertEqual(self.say(chat, "fine"), "fine\r\n")
        self.ends(chat)

    def test_stops_and_goes_on(self):
        chat = self.talk()
        for at in ("abc", "slow\r"):
            chat.send(at)
            chat.wait("abc" if at == "abc" else "w2 ")
            chat.process.send_signal(signal.SIGTSTP)
            # No shell could resume the chat, so the kernel drops the signal, and the chat draws the
            # line again.
            chat.wait("abc" if at == "abc" else "w8 ")
            chat.send("\x03")
            chat.wait(NEXT)
        self.assertEqual(self.say(chat, "fine"), "fine\r\n")
        self.ends(chat)

    def test_the_window_changes(self):
        chat = self.talk()
        chat.send("some words that are typed")
        chat.wait("typed")
        chat.resize(20)
        chat.wait("typed")
        chat.send(" here\r")
        self.assertIn("some words that are", chat.wait(NEXT).decode().split(OFF)[1])
        self.assertEqual(self.server.said(), [("user", "some words that are typed here")])
        chat.send("slow\r")
        chat.wait("w5 ")
        chat.resize(10)
        shown = chat.wait("w60 ").decode().split("\r\n")
        self.assertLessEqual(max(map(len, shown[-5:])), 10)
        chat.send("\x03")
        chat.wait(NEXT)
        self.ends(chat)

    def test_signals_end_a_chat(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            for line in ("abc", "slow\r"):
                chat = self.talk()
                chat.send(line)
                chat.wait("abc" if line == "abc" else "w2 ")
                chat.process.send_signal(number)
                self.assertEqual(chat.end(), -number)

    def test_refused_and_cut_answers_keep_what_was_said(self):
        chat = self.talk()
        self.assertEqual(self.say(chat, "no"),
                         "the server refuses (400): the stub will not; your message is kept: "
                         "/regen asks again, /undo removes it\r\n")
        self.say(chat, "please")
        self.assertEqual(self.server.said(), [("user", "no\n\nplease")])
        self.assertIn("gone\r\n", self.say(chat, "gone"))
        self.server.end()
        self.assertRegex(self.say(chat, "hello"), r"^no reply: .*; your message is kept")
        self.ends(chat)

    def test_without_a_terminal(self):
        text = "one\nthink\n/set top_k 3\n\"\"\"a\nb\n\"\"\"\nlast"
        self.assertEqual(self.good("chat", self.server.url, "--no-history", text=text),
                         "one\n\n\nIt is so.\na\nb\nlast\n")
        key = self.home / "key"
        key.write_text("secret\n")
        self.good("chat", self.server.url, "--api-key-file", key, text="x")
        self.assertEqual(self.server.asked[-1]["key"], "Bearer secret")
        status, out, err = self.call("chat", self.server.url, text="no\nfine\n")
        self.assertEqual((status, out), (1, b"no\n\nfine\n"))
        self.assertIn("hearth: the server refuses (400)", err)
        self.bad(2, "chat", "ftp://x", says=["'ftp://x' is not the address"])
        self.bad(2, "chat", self.chain, "--model", "x", says=["--model", "server"])
        self.bad(2, "chat", self.chain, says=["chat template"])
        self.server.end()
        self.bad(1, "chat", self.server.url, says=["no reply"])

    def test_a_model_here(self):
        chat = self.at_terminal("run", "--chat", "--temp", "0")
        self.assertIn("32 animals", chat.wait(NEXT).decode())
        story = self.say(chat, "Tell me a story about a fox and a kite.")
        self.assertIn("fox", story)
        self.say(chat, "Who was it?")
        told = self.say(chat, "/stats")
        reused = int(told.split(" of them reused")[0].split(", ")[-1])
        self.assertGreaterEqual(reused, 64, told)
        self.assertIn("does not exist", self.say(chat, "/model none.gguf"))
        self.assertNotIn("hearth", self.say(chat, "Tell me a story about an owl and a key."))
        self.ends(chat)

    def test_a_model_that_does_not_load_leaves_the_one_of_before(self):
        template = self.home / "t.jinja"
        template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
        demo = Path(__file__).resolve().parent.parent.parent / "assets" / "demo.gguf"
        # The keys and values are too small for the demo model's context.
        status, out, err = self.call("chat", self.random, "--chat-template", template, "--ctx",
                                     "256", "--kv-cache", "192KiB", "--temp", "0",
                                     text=f"/set max_tokens 3\n/model {demo}\na quick\n")
        self.assertEqual(status, 1)
        self.assertIn("': --kv-cache of 192.00 KiB", err)
        self.assertNotIn("no reply", err)
        self.assertNotEqual(out, b"")

    def test_options_of_a_model_here(self):
        template, importance = self.home / "t.jinja", self.home / "importance.dat"
        template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
        chain_models.write_importance(importance, self.random)
        pu = str(min(os.sched_getaffinity(0)))
        # A text at any other temperature may end before its first word.
        likeliest = ("--temp", "0")
        sampling = ("--top-p", "1", "--min-p", "0", "--repeat-penalty", "1",
                    "--presence-penalty", "0", "--frequency-penalty", "0", "--top-k", "1",
                    "--penalty-window", "4", "--system", "the fox ")
        for words in (("-t", "1", "--shards", "1", "--groups", "1", "--sync", "lockstep",
                       "--experts", "cut", "--kv-cache", "1MiB", "--kv-type", "f32", "--weights",
                       "q4_0", "--importance", importance, "-v"),
                      ("--cpus", pu, "--interleave", *sampling),
                      ("--nodes", "0"), ("--plan", "none")):
            out = self.good("chat", self.random, "--chat-template", template, "--ctx", "64",
                            *likeliest, *words, text="quick\n")
            self.assertNotEqual(out, "")
        out = self.good("chat", "--pre", "qwen2", "--offline", "--state-cache", "0", *likeliest,
                        text="/set max_tokens 3\nHello!\n")
        self.assertNotEqual(out, "")
