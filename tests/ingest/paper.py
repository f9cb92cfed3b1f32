"""PDFs for the tests, written here with what makes PDFs hard to read."""

from pathlib import Path

from fpdf import FPDF, FontFace
from fpdf.enums import AccessPermission, EncryptionMethod

WIDTH, MARGIN = 210, 20


class Paper(FPDF):
    """A page of A4 with a running head and a page number on every page."""

    def __init__(self, head: str = "") -> None:
        super().__init__()
        self.head = head
        self.set_margin(MARGIN)
        self.set_auto_page_break(True, 25)
        self.set_title("On Lamps")

    def header(self) -> None:
        if self.head:
            self.set_font("Times", "I", 8)
            self.set_xy(MARGIN, 10)
            self.cell(text=f"{self.head}, {self.page_no() + 100}")
            self.set_y(MARGIN)

    def footer(self) -> None:
        if self.head:
            self.set_font("Times", "", 9)
            self.set_y(-15)
            self.cell(w=0, text=str(self.page_no()), align="C")

    def heading(self, text: str, *, level: int = 0, size: int = 18, outline: bool = False) -> None:
        self.set_font("Helvetica", "B", size)
        if outline:
            self.start_section(text, level)
        self.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT")
        self.ln(2)

    def paragraph(self, text: str, *, width: float = 0, align: str = "L") -> None:
        self.set_font("Times", "", 11)
        self.multi_cell(width, 5, text, align=align, new_x="LEFT", new_y="NEXT")
        self.ln(3)

    def lines(self, *lines: str, font: str = "Times", gap: float = 5, x: float = MARGIN) -> None:
        self.set_font(font, "", 11)
        for line in lines:
            self.set_x(x)
            self.cell(text=line, new_y="NEXT", h=gap)
        self.ln(3)

    def rows(self, *rows: tuple[str, ...]) -> None:
        self.set_font("Times", "", 11)
        with self.table(borders_layout="NONE", headings_style=FontFace()) as table:
            for row in rows:
                table.row(row)
        self.ln(3)

    def save(self, path: Path, *, password: str = "", owner: str = "") -> Path:
        if password or owner:
            self.set_encryption(
                owner_password=owner or "owner",
                user_password=password,
                encryption_method=EncryptionMethod.RC4,
                permissions=AccessPermission.none(),
            )
        self.output(str(path))
        return path
