package chart

import "strings"

// Style is the style sheet of all drawings: a page has it once, a file in itself. Colours 0 to 7 tell states apart,
// also for those who do not see all colours (seven of Okabe and Ito's, 2008, and a grey); every state is named in
// words beside its colour.
const Style = `
:root { color-scheme: light dark; --ink: #1b1b1b; --soft: #6b6b6b; --rule: #dddddd; --paper: #ffffff; --strong: #c03030 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #9a9a9a; --rule: #3a3a3a; --paper: #161616; --strong: #ff7a70 } }
.chart { font: 11px system-ui, sans-serif }
.chart text { fill: var(--ink) }
.chart text.soft { fill: var(--soft) }
.chart text.title { font-size: 14px }
.chart text.head { font-weight: bold }
.chart .on { fill: #000 }
.chart .paper { fill: var(--paper) }
.chart .rule { stroke: var(--rule); fill: none }
.chart .strong { fill: var(--strong); stroke: var(--strong); stroke-width: 2 }
.chart .weak { fill: var(--soft); stroke: var(--soft); stroke-width: 2 }
.c0 { --own: #b8b8b8 } .c1 { --own: #56b4e9 } .c2 { --own: #e69f00 } .c3 { --own: #009e73 }
.c4 { --own: #cc79a7 } .c5 { --own: #d55e00 } .c6 { --own: #8c9fd9 } .c7 { --own: #f0e442 }
.chart .area { fill: var(--own) }
`

// Colours is how many states have a colour of their own; a number beyond begins again.
const Colours = 8

// File is a drawing as a file of its own: with the style sheet, on paper.
func File(drawing string) string {
	opening := strings.IndexByte(drawing, '>') + 1
	return drawing[:opening] + "<style>" + Style + "</style>\n" + `<rect class="paper" width="100%" height="100%"/>` + drawing[opening:]
}
