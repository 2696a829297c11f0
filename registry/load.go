package registry

// load finds the end of the chain, and the intents without outcome.
func (c *chain) load() error {
	files, err := chainFiles(c.dir)
	if err != nil {
		return err
	}
	for i := len(files) - 1; i >= 0 && c.at.seq == 0; i-- {
		c.number = max(c.number, files[i].number)
		tail := int64(0)
		for l, err := range files[i].lines() {
			if err != nil {
				return err
			}
			if !l.whole {
				tail += int64(len(l.Raw))
				continue
			}
			tail = 0
			c.at = position{seq: l.Entry.Seq - 1}.next(l.Raw)
		}
		c.torn += tail
		// A process that was killed may have left it to the system to write.
		if err := c.disk.sync(files[i].path); err != nil {
			return err
		}
	}
	c.durable, c.inherited = c.at, c.at.seq
	if c.torn > 0 {
		c.Log.Warn("the last line of the audit was broken off, and is left out", "directory", c.dir, "bytes", c.torn)
	}
	for l, err := range linesOf(filesSince(files)) {
		if err != nil {
			return err
		}
		switch e := l.Entry; {
		case !l.whole || l.void:
		case e.Event == EventIntent:
			c.open[e.pair()] = e
		case e.Event == EventOutcome:
			delete(c.open, e.pair())
		}
	}
	return nil
}

// filesSince gives the last file, and those before it as far back as there is an intent without outcome.
func filesSince(files []chainFile) []chainFile {
	i := len(files) - 1
	for i > 0 && files[i].header.Seq == 0 {
		i--
	}
	if i < 0 {
		return nil
	}
	for since := files[i].header.Since; since > 0 && i > 0 && (files[i].header.Seq == 0 || files[i].header.Seq > since); {
		i--
	}
	return files[i:]
}
