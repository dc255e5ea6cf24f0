package wideleaf

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's Go example compiles and prints what it should.
func TestReadmeExample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a program; not in short mode")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(readme), "```go\n")
	code, _, ok2 := strings.Cut(code, "```")
	if !ok || !ok2 {
		t.Fatal("README.md has no Go example")
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "README.md", code, 0); err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// Inside the module, so that its dependencies are at hand; in a folder that the go command otherwise ignores.
	dir, err := os.MkdirTemp(root, "_readme")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "example")
	build := exec.Command("go", "build", "-o", bin, filepath.Join(dir, "main.go"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(bin)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if err != nil || string(out) != "1 <nil>\n" {
		t.Fatalf("%v, it printed %q, want %q", err, out, "1 <nil>\n")
	}
}
