-- Users who can see the post: 'followers', or null for everyone.
ALTER TABLE posts ADD COLUMN visibility TEXT;
