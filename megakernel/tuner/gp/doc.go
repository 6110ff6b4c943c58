// Package gp is the Gaussian process that the tuner's models have in common:
// its correlation, its posterior and the gain it expects. Who uses it says what
// the covariance of two candidates is.
package gp
