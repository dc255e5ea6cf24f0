package wideleaf

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// layers lists the packages from the bottom up; a package may import only what stands on a line above its own. A new
// package is put where its one reason belongs (docs/architecture.md).
var layers = [][]string{
	{"pgerr", "tid"},
	{"value"},
	{"page", "catalog", "query/sql"},
	{"store", "page/pagetest"},
	{"heap"},
	{"pending", "am", "am/sortrun", "am/posting"},
	{"am/leaf", "am/filter"},
	{"am/entrytree", "tuplesort"},
	{"am/btree", "am/inverted", "am/amtest"},
	{"am/gin", "am/rum"},
	{"version"},
	{"query", "vacuum", "buildparallel"},
	{""}, // the root
	{"pageinspect"},
	{"cmd"},
}

// maxLines is where a file has become two.
const maxLines = 900

func TestImportsPointDown(t *testing.T) {
	level := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			level[p] = i
		}
	}
	find := func(pkg string) int {
		if strings.HasPrefix(pkg, "cmd/") {
			return level["cmd"]
		}
		n, ok := level[pkg]
		if !ok {
			t.Errorf("package %q is in no layer: put it into layers, where it belongs", pkg)
		}
		return n
	}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "bench") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if n := fset.Position(f.FileEnd).Line; n > maxLines {
			t.Errorf("%s has %d lines: over %d it has become two", name, n, maxLines)
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pkg := path.Clean(filepath.ToSlash(filepath.Dir(name)))
		if pkg == "." {
			pkg = ""
		}
		for _, im := range f.Imports {
			target, _ := strconv.Unquote(im.Path.Value)
			if target != "wideleaf" && !strings.HasPrefix(target, "wideleaf/") {
				continue
			}
			target = strings.TrimPrefix(strings.TrimPrefix(target, "wideleaf"), "/")
			if strings.HasPrefix(pkg, "cmd/") && strings.HasPrefix(target, "cmd/") {
				continue
			}
			if find(target) >= find(pkg) {
				t.Errorf("%s imports %q: imports point down", name, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each package stands in the list of docs/architecture.md, and each SQLSTATE that there is a name for is in use.
func TestNothingIsLeftOut(t *testing.T) {
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]int{} // the place where it is defined included
	var codes []string
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if dir != "." && !strings.HasPrefix(dir, "cmd/") && !strings.Contains(string(text), "`"+dir+"`") {
			t.Errorf("docs/architecture.md does not list the package %s", dir)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "pgerr" {
					used[n.Sel.Name]++
				}
			case *ast.Ident:
				if dir == "pgerr" {
					used[n.Name]++
				}
			case *ast.ValueSpec:
				if dir == "pgerr" && len(n.Values) == 1 {
					if v, ok := n.Values[0].(*ast.BasicLit); ok && v.Kind == token.STRING && len(v.Value) == len(`"00000"`) {
						codes = append(codes, n.Names[0].Name)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) < 30 {
		t.Errorf("only %d codes were found", len(codes))
	}
	for _, c := range codes {
		if used[c] < 2 {
			t.Errorf("nothing uses pgerr.%s", c)
		}
	}
}
