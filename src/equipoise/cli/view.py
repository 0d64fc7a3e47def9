"""equipoise view: one local page over a folder of runs."""

from __future__ import annotations

from pathlib import Path

import typer

from equipoise.core.errors import UserError, printable


def view(
    folder: Path = typer.Argument(Path(), help="the folder of the runs"),
    images: Path | None = typer.Option(None, help="photos outside FOLDER: a folder, tar or Parquet shards"),
    port: int = typer.Option(0, min=0, max=65535, help="of this machine; 0: any that is free"),
    export: Path | None = typer.Option(None, help="write the list to this page instead, e.g. page.html"),
) -> None:
    """Look at runs while they run. Progress, errors, curves, any two compared, every item.

    The page is for this machine alone. From another: ssh -N -L PORT:127.0.0.1:PORT HOST, then open the same address.
    """
    from equipoise.view.pages import Views
    from equipoise.view.server import Server

    if not folder.is_dir():
        raise UserError(f"{folder}: expected a folder of runs")
    views = Views(folder, images)
    if export is not None:
        if export.suffix.lower() not in {".html", ".htm"}:
            raise UserError(f"--export {export}: name a page that ends in .html")
        views.export(export)
        typer.echo(printable(f"open {export}"))
        return
    try:
        server = Server(views, port)
    except OSError as error:
        raise UserError(f"--port {port}: {error.strerror}; name another, or none for any that is free") from None
    number = server.server_port
    typer.echo(f"open {server.address}\nfrom another machine, first: ssh -N -L {number}:127.0.0.1:{number} HOST")
    typer.echo("Ctrl-C ends it; it writes nothing", err=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        raise typer.Exit from None
    finally:
        server.server_close()
