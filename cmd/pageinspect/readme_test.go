package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The session in the README prints what it says, but for how long a load took.
func TestReadmeSession(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the commands; not in short mode")
	}
	root := filepath.Join("..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	must(t, err)
	_, session, ok := strings.Cut(string(readme), "```console\n")
	session, _, ok2 := strings.Cut(session, "```")
	if !ok || !ok2 {
		t.Fatal("README.md has no session")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", bin+"/", "./cmd/wideload", "./cmd/pageinspect")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	elapsed := regexp.MustCompile(`in \d+\.\d+ s`)
	steps := strings.Split("\n"+session, "\n$ ")[1:]
	if len(steps) < 3 {
		t.Fatalf("%d steps", len(steps))
	}
	for _, step := range steps {
		command, want, _ := strings.Cut(step, "\n")
		run := exec.Command("sh", "-c", strings.NewReplacer("bin/", bin+"/", "/tmp/pages", filepath.Join(dir, "pages")).Replace(command))
		run.Dir = root
		out, err := run.CombinedOutput()
		got := elapsed.ReplaceAllString(strings.TrimRight(string(out), "\n"), "")
		if want = elapsed.ReplaceAllString(strings.TrimRight(want, "\n"), ""); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nthe README has:\n%s", command, err, got, want)
		}
	}
}
