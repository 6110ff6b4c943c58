package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "ringmaster"

type listedPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	CgoFiles   []string
}

func rootDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,CgoFiles", module+"/...")
	cmd.Dir = rootDir(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the rules hold for every variant: list the fullest
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list output: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := projectImports[name]
		if !known {
			t.Errorf("%s: not in the import table; add it with the packages it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			checkImport(t, name, imp, allowed)
		}
		if len(p.CgoFiles) > 0 && name != "glcompute" {
			t.Errorf("%s uses cgo; only glcompute may, so that everything else builds without a C compiler", name)
		}
	}
}

func checkImport(t *testing.T, name, imp string, allowed []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imp, module+"/"); ok {
		if !slices.Contains(allowed, own) {
			t.Errorf("%s imports %s; allowed are %v", name, own, allowed)
		}
		return
	}
	if slices.Contains(standardBans[name], imp) {
		t.Errorf("%s imports %s; this package is a function of values", name, imp)
	}
	if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		return
	}
	for _, rule := range externalOwners {
		if strings.HasPrefix(imp, rule.prefix) {
			if !slices.Contains(rule.owners, name) {
				t.Errorf("%s imports %s; only %v may: %s", name, imp, rule.owners, rule.reason)
			}
			return
		}
	}
	t.Errorf("%s imports %s, which no rule places; name its owner in externalOwners", name, imp)
}

func TestImportRulesNameWhatExists(t *testing.T) {
	var names, imports []string
	of := make(map[string][]string)
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		names, imports, of[name] = append(names, name), append(imports, p.Imports...), p.Imports
	}
	for name, allowed := range projectImports {
		if !slices.Contains(names, name) {
			t.Errorf("the import table names %s, which does not exist", name)
		}
		for _, may := range allowed {
			if !slices.Contains(of[name], module+"/"+may) {
				t.Errorf("%s may import %s, and does not; leave it out", name, may)
			}
		}
	}
	for _, rule := range externalOwners {
		if !slices.ContainsFunc(imports, func(i string) bool { return strings.HasPrefix(i, rule.prefix) }) {
			t.Errorf("a rule names %s, which nobody imports", rule.prefix)
		}
	}
}

// A newcomer finds each package in the documentation, with what it is.
func TestTheArchitectureHasARowForEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(rootDir(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]int)
	for line := range strings.Lines(string(text)) {
		names, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for name := range strings.SplitSeq(names, ", ") {
			if isRow {
				rows[strings.Trim(name, "`")]++
			}
		}
	}
	for name := range projectImports {
		if rows[name] != 1 {
			t.Errorf("docs/architecture.md has %d rows that begin with `%s`, want one", rows[name], name)
		}
	}
}

// sourceFiles calls fn for every Go file of the project, tests included.
func sourceFiles(t *testing.T, fn func(rel string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	root := rootDir(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		fn(filepath.ToSlash(rel), f, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSourceRules(t *testing.T) {
	comments := map[string][]string{}
	packages := map[string]bool{}
	sourceFiles(t, func(rel string, f *ast.File, fset *token.FileSet) {
		test := strings.HasSuffix(rel, "_test.go")
		dir := filepath.ToSlash(filepath.Dir(rel))
		for _, imp := range f.Imports {
			if imp.Path.Value == `"unsafe"` && !test && dir != "glcompute" && !strings.HasSuffix(rel, "_unsafe.go") {
				t.Errorf("%s imports unsafe; only *_unsafe.go files and glcompute may", rel)
			}
		}
		if test {
			return
		}
		packages[dir] = true
		if f.Doc != nil {
			comments[dir] = append(comments[dir], rel)
		}
		if lines := fset.File(f.Pos()).LineCount(); lines > 400 {
			t.Errorf("%s has %d lines; split it by idea, 400 is the limit", rel, lines)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				checkCall(t, rel, dir, n)
			case *ast.CallExpr:
				checkLogKeys(t, rel, n)
			}
			return true
		})
	})
	for dir := range packages {
		want := []string{dir + "/doc.go"}
		if dir == "cmd/runtime" || dir == "bench" || dir == "bench/fleet" {
			want = []string{dir + "/main.go"}
		}
		if got := comments[dir]; !slices.Equal(got, want) {
			t.Errorf("%s: package comment in %v, want exactly one, in %v", dir, got, want)
		}
	}
}

// checkLogKeys has log records say under one key why something went wrong, and how many like it were left out.
func checkLogKeys(t *testing.T, rel string, call *ast.CallExpr) {
	t.Helper()
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error", "Say", "Log"}, sel.Sel.Name) {
		return
	}
	for _, arg := range call.Args {
		word, ok := arg.(*ast.BasicLit)
		if !ok {
			continue
		}
		switch word.Value {
		case `"err"`, `"reason"`, `"why"`:
			t.Errorf("%s logs under the key %s; the key is \"error\"", rel, word.Value)
		case `"muted"`, `"not_logged"`:
			t.Errorf("%s logs under the key %s; the key is \"suppressed\"", rel, word.Value)
		}
	}
}

func checkCall(t *testing.T, rel, dir string, sel *ast.SelectorExpr) {
	t.Helper()
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || strings.HasPrefix(dir, "cmd/") || dir == "bench" || dir == "bench/fleet" || dir == "glcompute/gltest" { // gltest: for tests alone
		return
	}
	switch call := pkg.Name + "." + sel.Sel.Name; call {
	case "os.Getenv", "os.LookupEnv", "os.Exit", "log.Fatal", "log.Fatalf", "fmt.Print", "fmt.Println", "fmt.Printf":
		t.Errorf("%s uses %s; only commands read the environment, print and exit", rel, call)
	}
}

func TestModuleHasNoReplaceLines(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(rootDir(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mod, []byte("\nreplace")) {
		t.Error("go.mod has a replace line; the module must build for everyone else too")
	}
}

// mostFiles is how many files, tests aside, a package may have: what has more is several ideas.
const mostFiles = 25

// tooLarge lists the packages that have more, and how many. The numbers may only shrink.
var tooLarge = map[string]int{}

func TestPackageSizeIsBounded(t *testing.T) {
	files := map[string]int{}
	sourceFiles(t, func(rel string, _ *ast.File, _ *token.FileSet) {
		if !strings.HasSuffix(rel, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(rel))]++
		}
	})
	for dir, n := range files {
		if most := max(mostFiles, tooLarge[dir]); n > most {
			t.Errorf("%s has %d files, %d are the limit; a package has one idea, and what serves another is a package beside it", dir, n, most)
		}
	}
	for dir := range tooLarge {
		if files[dir] == 0 {
			t.Errorf("%s is listed as too large and does not exist", dir)
		}
	}
}

// TestCommandOnly holds package main to commands, flags, and plain values that they read or print. A command has a
// name that ends in Cmd, and what a run of it needs stands in its file; flags have tags for the parser or read a
// flag's text themselves.
func TestCommandOnly(t *testing.T) {
	reads := map[string]bool{} // types that read a flag's text
	found := map[string]string{}
	sourceFiles(t, func(rel string, f *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(rel, "_test.go") || filepath.ToSlash(filepath.Dir(rel)) != "cmd/runtime" {
			return
		}
		var here []string // what serves, in this file
		command := false
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "UnmarshalText" {
				reads[strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*")] = true
			}
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					s := spec.(*ast.TypeSpec)
					command = command || strings.HasSuffix(s.Name.Name, "Cmd")
					if serves(s) {
						here = append(here, s.Name.Name)
					}
				}
			}
		}
		for _, name := range here {
			if !command {
				found[name] = rel
			}
		}
	})
	for name, rel := range found {
		if !reads[name] {
			t.Errorf("%s: %s holds a lock, a channel or an atomic and is neither a command nor flags; what serves has a package with a Config", rel, name)
		}
	}
}

// serves tells whether a type holds what several goroutines use, and is neither a command nor flags.
func serves(spec *ast.TypeSpec) (shared bool) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok || strings.HasSuffix(spec.Name.Name, "Cmd") {
		return false
	}
	for _, field := range s.Fields.List {
		if field.Tag != nil && (strings.Contains(field.Tag.Value, `help:"`) || strings.Contains(field.Tag.Value, `cmd:"`)) {
			return false
		}
		ast.Inspect(field.Type, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ChanType:
				shared = true
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				shared = shared || ok && (pkg.Name == "sync" || pkg.Name == "atomic")
			}
			return true
		})
	}
	return shared
}

// TestLinksNoBenchmarks holds yardsticks out of the program that users run.
func TestLinksNoBenchmarks(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/runtime")
	list.Dir = rootDir(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); dep == "testing" || dep == module+"/bench" || strings.HasPrefix(dep, module+"/bench/") {
			t.Errorf("ringmaster links %s; benchmarks are a program of their own, in bench", dep)
		}
	}
}
