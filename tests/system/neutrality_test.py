# SPDX-License-Identifier: Apache-2.0
"""Programs under the preload behave exactly as without it, whatever is missing around them."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import unittest

from preloaded_run import (PROGRAMS, SHIM, SIMULATOR, VRAMTRACE, Case, drained, preloaded_environment, report,
                           simulated_environment, wait_for)

TOOLS = {
    "bash": ["bash", "-c", "for i in 1 2 3; do echo $i | cat; done; exit 3"],
    "git": ["git", "--version"],
    "python": [sys.executable, "-c", "import json, subprocess; print(json.dumps(subprocess.check_output(['echo', 'x']).decode()))"],
    "python exit code": [sys.executable, "-c", "raise SystemExit(7)"],
    "node": ["node", "-e", "console.log([1, 2, 3].map(x => x * x).join()); process.exit(5)"],
    "gcc": ["gcc", "-x", "c", "-", "-o", "/dev/null"],
    "ninja": ["ninja", "--version"],
    "perl": ["perl", "-e", "print 1 + 1; exit 4"],
}


class Neutrality(Case):
    def same(self, command, native=None, stdin="", **extra):
        """Same exit code and output as without the preload; at most one bounded line more on stderr."""
        before = subprocess.run(command, env=simulated_environment(**extra), input=stdin, capture_output=True,
                                text=True, timeout=60, cwd=self.directory)
        under = subprocess.run(command, env=preloaded_environment(self.trace, **extra), input=stdin,
                               capture_output=True, text=True, timeout=60, cwd=self.directory)
        self.assertEqual(under.returncode, before.returncode, under.stderr)
        self.assertEqual(under.stdout, before.stdout)
        return before, under

    def test_tools_without_cuda(self):
        for name, command in TOOLS.items():
            with self.subTest(name):
                if shutil.which(command[0]) is None:
                    print(f"skipped: no {command[0]} here", file=sys.stderr)
                    continue
                before, under = self.same(command, stdin="int main(void) { return 0; }\n")
                self.assertEqual(under.stderr, before.stderr)
                self.assertFalse(self.trace.exists(), "a program without CUDA opened a trace")

    def test_files_opened_by_a_program_without_cuda(self):
        """The shim opens nothing: the set of open calls is the loader's own plus the shim itself."""
        if shutil.which("strace") is None:
            self.skipTest("no strace here")
        def opened(environment):
            log = self.directory / "strace.log"
            subprocess.run(["strace", "-f", "-e", "trace=open,openat,creat", "-o", log, "cat", "/dev/null"],
                           env=environment, check=True)
            return sorted(line.split('"')[1] for line in log.read_text().splitlines() if '"' in line)
        self.assertEqual([f for f in opened(preloaded_environment(self.trace)) if "vramtrace" not in f],
                         [f for f in opened(simulated_environment()) if "vramtrace" not in f])

    def test_missing_driver(self):
        before, under = self.same([str(PROGRAMS / "missing_driver")], LD_LIBRARY_PATH=self.cudart_only())
        self.assertEqual(under.stderr, before.stderr)
        self.assertFalse(self.trace.exists())

    def cudart_only(self):
        """A library folder with the runtime but no driver."""
        folder = self.directory / "lib"
        folder.mkdir(exist_ok=True)
        for library in (SHIM.parent.parent / "simulator").glob("libcudart*"):
            if not (folder / library.name).exists():
                (folder / library.name).symlink_to(library)
        return str(folder)

    def test_trace_folder_cannot_be_made(self):
        self.trace.write_text("a file stands where the folder should be")
        before, under = self.same([str(PROGRAMS / "quickstart_leak")])
        self.assertLessEqual(len(under.stderr.splitlines()) - len(before.stderr.splitlines()), 1, under.stderr)

    def test_missing_collector(self):
        before, under = self.same([str(PROGRAMS / "quickstart_leak")], VRAMTRACE_COLLECTOR="/nonexistent/vramtrace-collect")
        self.assertLessEqual(len(under.stderr.splitlines()) - len(before.stderr.splitlines()), 1, under.stderr)
        self.assertTrue(list(self.trace.glob("*.ring")), "what no collector drains stays in the ring")

    def test_file_size_limit(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))
        command = [str(PROGRAMS / "quickstart_leak")]
        before = subprocess.run(command, env=simulated_environment(), capture_output=True, text=True, timeout=60,
                                preexec_fn=limited, cwd=self.directory)
        under = subprocess.run(command, env=preloaded_environment(self.trace), capture_output=True, text=True,
                               timeout=60, preexec_fn=limited, cwd=self.directory)
        self.assertEqual((under.returncode, under.stdout), (before.returncode, before.stdout), under.stderr)
        self.assertLessEqual(len(under.stderr.splitlines()), 1)

    def test_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        script = (f"mount -t tmpfs -o size=1m none {self.directory}/small && cp /bin/true {self.directory}/small/t && "
                  f"(head -c 2m /dev/zero > {self.directory}/small/fill || true) 2>/dev/null; exec \"$@\"")
        (self.directory / "small").mkdir()
        command = ["unshare", "-m", "bash", "-c", script, "bash", str(PROGRAMS / "quickstart_leak")]
        before = subprocess.run(command, env=simulated_environment(), capture_output=True, text=True, timeout=60)
        if "mount" in before.stderr:
            self.skipTest("this machine lets nobody mount: " + before.stderr)
        environment = preloaded_environment(self.directory / "small" / "trace")
        under = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((under.returncode, under.stdout), (before.returncode, before.stdout), under.stderr)
        self.assertLessEqual(len(under.stderr.splitlines()), 1)

    def test_job_notices_no_helper(self):
        """waitpid(-1), a SIGCHLD handler and closefrom(3) of the job see nothing of the collector."""
        before, under = self.same([str(PROGRAMS / "closefrom_waitpid")])
        self.assertNotIn("FAIL", under.stdout)
        self.assertEqual(under.returncode, 0, under.stdout + under.stderr)
        self.assertTrue(self.trace.exists())

    def test_a_sanitizer_in_front(self):
        """AddressSanitizer's runtime takes over libc's functions and asks us, by dlsym, for the real ones."""
        compiler = shutil.which("g++")
        runtime = compiler and subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True,
                                              text=True).stdout.strip()
        if not runtime or not os.path.isabs(runtime):
            self.skipTest("no libasan.so here")
        environment = preloaded_environment(self.trace, ASAN_OPTIONS="detect_leaks=0")
        environment["LD_PRELOAD"] = f"{runtime} {SHIM}"
        result = subprocess.run([PROGRAMS / "quickstart_leak"], env=environment, capture_output=True, text=True,
                                timeout=60)
        self.assertEqual((result.returncode, result.stdout), (0, "40 steps done\n"), result.stderr)
        wait_for(lambda: drained(self.trace), what="draining of the rings")
        self.assertEqual(report(self.trace)["leak_summary"]["allocations"], 40)

    def test_a_program_with_a_sanitizer(self):
        """`run` of a program that is linked with AddressSanitizer's shared runtime."""
        source, program = self.directory / "p.cpp", self.directory / "p"
        source.write_text('#include <cstdio>\n#include <cstdlib>\nextern "C" int cudaMalloc(void**, size_t);\n'
                          'int main() { void* p; printf("%d %s\\n", cudaMalloc(&p, 4711), getenv("ASAN_OPTIONS")); }\n')
        built = subprocess.run(["g++", "-fsanitize=address", source, "-o", program, f"-L{SIMULATOR}", "-l:libcudart.so.13",
                                "-Wl,--allow-shlib-undefined"], capture_output=True, text=True)
        if built.returncode != 0:
            self.skipTest("no AddressSanitizer here")
        for before, after in ((None, "verify_asan_link_order=0"), ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0")):
            environment = simulated_environment(**({} if before is None else {"ASAN_OPTIONS": before}))
            trace = self.directory / f"trace-{before}"
            result = subprocess.run([VRAMTRACE, "run", "-o", trace, "--", program], env=environment, capture_output=True,
                                    text=True, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (0, f"0 {after}\n"), result.stderr)
            self.assertEqual(report(trace)["leak_summary"]["bytes"], 4711)

    def test_disabled(self):
        self.same([str(PROGRAMS / "quickstart_leak")], VRAMTRACE_DISABLE=1)
        self.assertFalse(self.trace.exists())


if __name__ == "__main__":
    unittest.main()
