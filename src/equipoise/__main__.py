"""`python -m equipoise`, and with it `torchrun -m equipoise train ...` on several GPUs."""

from equipoise.cli import main

if __name__ == "__main__":
    main()
