"""Write the reference pages from the code: python -m scripts.reference."""

from scripts.reference.pages import pages


def main() -> None:
    """Write every page; those that are up to date stay untouched."""
    for place, text in pages():
        if not place.exists() or place.read_text(encoding="utf-8") != text:
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")
            print(place)


if __name__ == "__main__":
    main()
