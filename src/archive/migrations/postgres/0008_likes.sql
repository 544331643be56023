-- The likes of an archived post. The n-th like ever of the post has the number n. Likes whose numbers are no longer
-- known have negative numbers, in the order of the hashes of their members.
CREATE TABLE likes (
    post BIGINT NOT NULL,
    member BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (post, member)
);

-- The order of the list.
CREATE INDEX likes_in_order ON likes (post, number DESC, member);

-- Finds what a member likes.
CREATE INDEX likes_of_member ON likes (member, post);
