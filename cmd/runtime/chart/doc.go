// Package chart draws as SVG: marks with their spans on a logarithmic axis, and bands that say in which
// state something was when. A drawing is text made of values, so a page, a file and a test have the same one; every name
// in it is escaped. Colours are those of Style, which has a light and a dark form. Pure.
package chart
