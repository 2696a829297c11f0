package engine

// FormsUsed says how many requests were compiled by the form of others.
func (e *Engine) FormsUsed() int64 { return e.forms.hits.Load() }

// ByRole says whether fields hang on the attributes of whoever asks, so that these are looked up first.
func (e *Engine) ByRole() bool { return e.byRole }
