package usage

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Settings writes a file of settings in which every flag stands as a comment, with its help and its default, or where
// it has none with what it takes. It says nothing of the host that wrote it.
func Settings(w io.Writer, flags []*kong.Flag, host string) error {
	var text strings.Builder
	text.WriteString("# Settings of ringmaster run. What is commented out is as the program has it without a file.\n" +
		"# A flag wins over its variable, and that over this file. ringmaster config check says whether run takes it.\n")
	group := ""
	for _, flag := range flags {
		if flag.Group != nil && flag.Group.Title != group {
			group = flag.Group.Title
			fmt.Fprintf(&text, "\n# == %s ==\n", strings.TrimSuffix(group, ":"))
		}
		fmt.Fprintf(&text, "\n# %s\n", strings.ReplaceAll(kong.DefaultHelpValueFormatter(flag.Value), "\n", " "))
		fmt.Fprintf(&text, "#%s = %s\n", flag.Name, tomlOf(flag, host))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// tomlOf is a flag's default as a value of a file, or its placeholder.
func tomlOf(flag *kong.Flag, host string) string {
	of := flag.Default
	if of == host {
		of = ""
	}
	switch kind := flag.Target.Kind(); {
	case kind == reflect.Bool:
		return strconv.FormatBool(of == "true")
	case kind == reflect.Slice:
		return "[" + strconv.Quote(flag.PlaceHolder) + "]"
	case of == "":
		return strconv.Quote(flag.PlaceHolder)
	case kind != reflect.String && isNumber(of):
		return of
	}
	return strconv.Quote(of)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
