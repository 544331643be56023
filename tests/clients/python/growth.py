"""A plugin of ariadne-codegen for clients that outlive a version of the server: a later one may send values of an enum,
and kinds of an interface, that the schema of the client does not have. Without it, the client rejects such a response."""

import ast

from ariadne_codegen.plugins.base import Plugin
from graphql import ExecutableDefinitionNode, GraphQLEnumType, is_abstract_type

# No value of a GraphQL enum has such a name.
UNKNOWN = """
UNKNOWN = "%unknown"

@classmethod
def _missing_(cls, value: object) -> "{name}":
    return cls.UNKNOWN
"""


class Growth(Plugin):
    def generate_enum(self, class_def: ast.ClassDef, enum_type: GraphQLEnumType) -> ast.ClassDef:
        """Adds a member that every value without one becomes."""
        class_def.body.extend(ast.parse(UNKNOWN.format(name=class_def.name)).body)
        return class_def

    def generate_result_types_module(
        self, module: ast.Module, operation_definition: ExecutableDefinitionNode
    ) -> ast.Module:
        """Makes the class with the fields that all kinds have accept every kind, if no other class does."""
        # The generator writes strings as names.
        module = ast.parse(ast.unparse(module))
        fallbacks = {fallback for node in module.body if (fallback := self.opened(node))}
        for node in ast.walk(module):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
                reorder(node, node.value, fallbacks)
        return module

    def opened(self, node: ast.stmt) -> str | None:
        """Lets a class of an interface's kinds without an own class have any other kind, and returns its name."""
        if not isinstance(node, ast.ClassDef):
            return None
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.target) == "typename__":
                kinds = [part.value for part in ast.walk(field.annotation) if isinstance(part, ast.Constant)]
                if any(is_abstract_type(self.schema.get_type(str(kind))) for kind in kinds):
                    field.annotation = ast.Name("str")
                    return node.name
        return None


def reorder(field: ast.AnnAssign, default: ast.Call, fallbacks: set[str]) -> None:
    """Tries the classes of a field that has one of several in order, those that accept every kind last."""
    kept = [keyword for keyword in default.keywords if keyword.arg != "discriminator"]
    if len(kept) == len(default.keywords):
        return
    default.keywords = [*kept, ast.keyword("union_mode", ast.Constant("left_to_right"))]
    for part in ast.walk(field.annotation):
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Union" and isinstance(part.slice, ast.Tuple):
            part.slice.elts.sort(key=lambda member: isinstance(member, ast.Constant) and member.value in fallbacks)
