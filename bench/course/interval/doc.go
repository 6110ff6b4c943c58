// Package interval says how sure the ratio of two things is that were measured side by side. Pure.
package interval
