/**
 * @generated SignedSource<<f5936ac0166250a3881734eea2f10ba8>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ReaderFragment } from 'relay-runtime';
export type RelationStatus = "FOLLOWER" | "FOLLOWING" | "MUTUAL" | "NONE" | "%future added value";
import type { FragmentRefs } from "relay-runtime";
export type documentsRelation$data = {
  readonly followingSince: string | null | undefined;
  readonly id: string;
  readonly requestedSince: string | null | undefined;
  readonly status: RelationStatus;
  readonly " $fragmentType": "documentsRelation";
};
export type documentsRelation$key = {
  readonly " $data"?: documentsRelation$data;
  readonly " $fragmentSpreads": FragmentRefs<"documentsRelation">;
};

const node: ReaderFragment = {
  "argumentDefinitions": [],
  "kind": "Fragment",
  "metadata": null,
  "name": "documentsRelation",
  "selections": [
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "id",
      "storageKey": null
    },
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "status",
      "storageKey": null
    },
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "followingSince",
      "storageKey": null
    },
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "requestedSince",
      "storageKey": null
    }
  ],
  "type": "Relation",
  "abstractKey": null
};

(node as any).hash = "90a493078f1a63423c28943fe7afd928";

export default node;
