-- What an attachment of the registry gives its validation. The registry's own tables have no column for it.
-- +goose Up
CREATE TABLE IF NOT EXISTS resq_attachment_args (
  attachment_id TEXT NOT NULL PRIMARY KEY,
  args TEXT NOT NULL,
  CONSTRAINT fk_resq_attachment_args_attachment_id FOREIGN KEY (attachment_id) REFERENCES validation_attachments (attachment_id) ON DELETE CASCADE
);

-- +goose Down
DROP TABLE IF EXISTS resq_attachment_args;
