"""Content blocks of ACP, as an agent sends them."""


def text_of(content: object) -> str:
    """Return a content block as text; other kinds are named."""
    if not isinstance(content, dict):
        return ""
    if isinstance(text := content.get("text"), str):
        return text
    resource = content.get("resource")
    uri = content.get("uri") or (resource.get("uri") if isinstance(resource, dict) else "")
    return f"[{content.get('type', 'content')}{f': {uri}' if uri else ''}]"
