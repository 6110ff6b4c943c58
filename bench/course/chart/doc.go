// Package chart draws panels of marks on a logarithmic axis, as SVG. Pure.
package chart
