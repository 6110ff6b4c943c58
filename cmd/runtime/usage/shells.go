package usage

import (
	"fmt"
	"strings"
)

func bash(w *strings.Builder, all []place) {
	fmt.Fprintf(w, `# Completion of ringmaster for bash: ringmaster completion bash
_ringmaster() {
    local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]} at='' i
    # bash splits --flag=value into three words.
    if [[ $cur == = ]]; then
        cur=''
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in
        %s) at="${at:+$at }${COMP_WORDS[i]}" ;;
        esac
    done
    COMPREPLY=()
    case "$at $flag" in
`, patterns(steps(all), " | "))
	for _, at := range all {
		for _, flag := range at.flags {
			if flag.takes == oneOf {
				fmt.Fprintf(w, "    %s) mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\"); return ;;\n", quote(at.path+" "+flag.name), quote(strings.Join(flag.values, " ")))
			}
		}
	}
	fmt.Fprintf(w, "    %s) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n", patterns(withValues(all, files), " | "))
	fmt.Fprintf(w, "    %s) return ;;\n    esac\n    case $at/$cur in\n", patterns(withValues(all, anything), " | "))
	for _, at := range all {
		var names []string
		for _, flag := range at.flags {
			names = append(names, flag.name)
		}
		fmt.Fprintf(w, "    %s/-*) mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\") ;;\n", quote(at.path), quote(strings.Join(names, " ")))
		names = nil
		for _, command := range at.commands {
			names = append(names, command.Name)
		}
		if len(names) > 0 {
			fmt.Fprintf(w, "    %s/*) mapfile -t COMPREPLY < <(compgen -W %s -- \"$cur\") ;;\n", quote(at.path), quote(strings.Join(names, " ")))
		}
	}
	w.WriteString(`    *) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    esac
}
complete -o filenames -F _ringmaster ringmaster
`)
}

func zsh(w *strings.Builder, all []place) {
	fmt.Fprintf(w, `#compdef ringmaster
# Completion of ringmaster for zsh: ringmaster completion zsh
_ringmaster() {
    local at='' word flag=$words[CURRENT-1]
    local -a list
    for word in $words[2,CURRENT-1]; do
        case "$at $word" in
        %s) at="${at:+$at }$word" ;;
        esac
    done
    if [[ $PREFIX == --*=* ]]; then
        flag=${PREFIX%%%%=*}
        compset -P 1 '*='
    fi
    case "$at $flag" in
`, patterns(steps(all), " | "))
	for _, at := range all {
		for _, flag := range at.flags {
			if flag.takes == oneOf {
				fmt.Fprintf(w, "    %s) compadd %s; return ;;\n", quote(at.path+" "+flag.name), patterns(flag.values, " "))
			}
		}
	}
	fmt.Fprintf(w, "    %s) _files; return ;;\n    %s) return ;;\n    esac\n    case $at/$PREFIX in\n", patterns(withValues(all, files), " | "), patterns(withValues(all, anything), " | "))
	for _, at := range all {
		var described []string
		for _, flag := range at.flags {
			described = append(described, flag.name+":"+flag.help)
		}
		fmt.Fprintf(w, "    %s/-*) list=(%s); _describe flag list ;;\n", quote(at.path), patterns(described, " "))
		described = nil
		for _, command := range at.commands {
			described = append(described, command.Name+":"+firstSentence(command.Help))
		}
		if len(described) > 0 {
			fmt.Fprintf(w, "    %s/*) list=(%s); _describe command list ;;\n", quote(at.path), patterns(described, " "))
		}
	}
	w.WriteString(`    *) _files ;;
    esac
}
if [[ $funcstack[1] == _ringmaster ]]; then
    _ringmaster "$@"
else
    compdef _ringmaster ringmaster
fi
`)
}

func fish(w *strings.Builder, all []place) {
	quote := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
	}
	var quoted []string
	for _, step := range steps(all) {
		quoted = append(quoted, quote(step))
	}
	fmt.Fprintf(w, `# Completion of ringmaster for fish: ringmaster completion fish
function __ringmaster_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case %s
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
complete -c ringmaster -f
`, strings.Join(quoted, " "))
	for _, at := range all {
		here := "complete -c ringmaster -n " + quote(`__ringmaster_at "`+at.path+`"`)
		for _, command := range at.commands {
			fmt.Fprintf(w, "%s -a %s -d %s\n", here, command.Name, quote(firstSentence(command.Help)))
		}
		if len(at.commands) == 0 {
			fmt.Fprintf(w, "%s -F\n", here)
		}
		for _, flag := range at.flags {
			takes := map[kind]string{oneOf: " -x -a " + quote(strings.Join(flag.values, " ")), files: " -r -F", anything: " -x"}[flag.takes]
			fmt.Fprintf(w, "%s -l %s%s -d %s\n", here, strings.TrimPrefix(flag.name, "--"), takes, quote(flag.help))
		}
	}
}
