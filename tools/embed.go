// Package tools holds the business tools that are shipped in the binary, one folder per pack and one file per tool.
package tools

import (
	"embed"
	"io/fs"
)

//go:embed erp/*.yaml store/*.yaml xiaoqu/*.yaml
var files embed.FS

// Files gives the tools of a pack; nil when it has none.
func Files(pack string) fs.FS {
	if _, err := fs.Stat(files, pack); err != nil {
		return nil
	}
	sub, err := fs.Sub(files, pack)
	if err != nil {
		panic(err) // the name is no path: a mistake of this file
	}
	return sub
}
